#include "sim/views/quantities.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::string share_cell(const std::optional<double>& share) {
  return share ? percent(*share) : "-";
}

}  // namespace

std::string quantity_text(const learned::QuantityReport& report) {
  const std::string& unit = report.target.unit;
  TextTable table({{"rows of"},
                   {"n", Align::kRight},
                   {"works", Align::kRight},
                   {"model"},
                   {"RMSE " + unit, Align::kRight},
                   {"RMSE % of range", Align::kRight},
                   {"mean |error| " + unit, Align::kRight},
                   {"exact %", Align::kRight}});
  for (const learned::QuantityStratum& stratum : report.strata) {
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (!stratum.scores[i]) continue;
      const measured::QuantityScores& scores = *stratum.scores[i];
      table.add({stratum.name, std::to_string(stratum.rows), std::to_string(stratum.works),
                 report.columns[i], compact(scores.rmse), share_cell(scores.rmse_of_range),
                 compact(scores.mean_absolute), share_cell(scores.exact)});
    }
  }
  return fmt::format("{} in {}; physics has no answer for it\n", report.target.quantity, unit) +
         table.render();
}

Json quantity_json(const learned::QuantityReport& report) {
  Json strata = Json::array();
  for (const learned::QuantityStratum& stratum : report.strata) {
    Json all = Json::array();
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      if (!stratum.scores[i]) continue;
      const measured::QuantityScores& scores = *stratum.scores[i];
      all.push_back({{"model", report.columns[i]},
                     {"rmse", scores.rmse},
                     {"rmse_of_range", json_number(scores.rmse_of_range)},
                     {"mean_absolute_error", scores.mean_absolute},
                     {"exact", json_number(scores.exact)}});
    }
    strata.push_back({{"name", stratum.name},
                      {"rows", stratum.rows},
                      {"works", stratum.works},
                      {"scores", std::move(all)}});
  }
  return {{"schema", "tilecast.quantity/1"}, {"quantity", report.target.quantity},
          {"unit", report.target.unit},      {"count", report.target.count},
          {"columns", report.columns},       {"unanswered", report.unanswered},
          {"strata", std::move(strata)}};
}

std::string quantity_evaluation_text(const learned::QuantityReport& report,
                                     const std::vector<std::string>& notes) {
  std::string text = quantity_text(report);
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string quantity_evaluation_json(const learned::QuantityReport& report,
                                     const std::vector<std::string>& notes) {
  Json json = quantity_json(report);
  json["notes"] = notes;
  return json_text(json, 2);
}

}  // namespace tilecast::sim::views
