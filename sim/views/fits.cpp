#include "sim/views/fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"

namespace tilecast::sim::views {

using hybrid::TrialReport;

std::string trials_text(const TrialReport& report) {
  TextTable table({"groups left out", ">rows", ">physics MAPE %", ">hybrid MAPE %", ""});
  const auto add = [&](const std::string& what, std::size_t rows, double before, double after,
                       bool corrected) {
    table.add({what, fmt::format("{}", rows), fmt::format("{:.1f}", before),
               fmt::format("{:.1f}", after), corrected ? "" : "physics alone"});
  };
  add("all", report.rows, report.before, report.after, report.believed > 0);
  for (const TrialReport::OfClass& one : report.classes) {
    add(one.op_class, one.rows, one.before, one.after, one.before != one.after);
  }
  return table.render() + fmt::format(
                              "{} of {} rows corrected, in {} groups; {} of {} strata of set, "
                              "device and bound worse by over a point, worst {:+.1f}\n",
                              report.believed, report.rows, report.units, report.worse,
                              report.strata, report.worst);
}

nlohmann::ordered_json trials_json(const TrialReport& report) {
  nlohmann::ordered_json json = {{"left_out", "groups"},
                                 {"rows", report.rows},
                                 {"groups", report.units},
                                 {"rows_corrected", report.believed},
                                 {"mape_physics", report.before / 100},
                                 {"mape", report.after / 100},
                                 {"strata", report.strata},
                                 {"strata_worse_by_a_point", report.worse},
                                 {"worst_points", report.worst},
                                 {"classes", nlohmann::ordered_json::array()}};
  for (const TrialReport::OfClass& one : report.classes) {
    json["classes"].push_back({{"class", one.op_class},
                               {"rows", one.rows},
                               {"mape_physics", one.before / 100},
                               {"mape", one.after / 100}});
  }
  return json;
}

namespace {

using hybrid::Calibrated;
using hybrid::FittedConstant;
using hybrid::HeldOutScore;
using Json = nlohmann::ordered_json;

std::string value_cell(const FittedConstant& constant, double value) {
  return constant.is_time ? duration(value) : fmt::format("x {:.3f}", value);
}

std::string knowledge(hybrid::Knowledge knowledge) {
  switch (knowledge) {
    case hybrid::Knowledge::kRows:
      return "the rows";
    case hybrid::Knowledge::kBoth:
      return "the rows and its prior: not identified alone";
    case hybrid::Knowledge::kDescription:
      break;
  }
  return "as described: the rows say nothing about it";
}

std::string constants_table(const Calibrated& calibrated) {
  TextTable table({"constant", ">described", ">fitted", ">95 % interval", ">prior's 95 %", "from"});
  for (const FittedConstant& c : calibrated.constants) {
    table.add({c.name, value_cell(c, c.described), value_cell(c, c.fitted),
               fmt::format("{} .. {}", value_cell(c, c.low), value_cell(c, c.high)),
               fmt::format("{} .. {}", value_cell(c, c.prior_low), value_cell(c, c.prior_high)),
               knowledge(c.knowledge)});
  }
  return table.render();
}

std::string held_out_table(const Calibrated& calibrated) {
  TextTable table(
      {"held out", ">rows", ">kernels", ">mean |log error| % before", ">after", ">noise", ""});
  for (const HeldOutScore& score : calibrated.held_out) {
    table.add({score.group, fmt::format("{}", score.rows), fmt::format("{}", score.kernels),
               percent(score.before), percent(score.after), percent(score.noise),
               score.worse() ? "worse" : ""});
  }
  return table.render();
}

std::string verdict(const Calibrated& calibrated) {
  if (calibrated.constants.empty()) return "kept: the rows identify no constant\n";
  std::string text;
  for (const hybrid::RefusedFit& fit : calibrated.refused) {
    text += fmt::format("refused: fitting {}: {}\n", fmt::join(fit.constants, ", "),
                        hybrid::changed(fit.worst));
  }
  if (calibrated.accepted || calibrated.refused_as_suspicious) {
    for (const FittedConstant& constant : calibrated.suspicious()) {
      text += fmt::format("suspicious: {}\n", hybrid::suspicion(constant));
    }
  }
  if (calibrated.refused_as_suspicious) {
    return text +
           "refused: such constants say that the description is wrong (clock, power limit, peak, "
           "another machine);\n  correct it, or take them with --accept-suspicious\n";
  }
  return text + (calibrated.accepted
                     ? "accepted: held-out kernels are predicted better, and no class or set worse "
                       "beyond noise\n"
                     : "kept: no fit helps rows it has not seen; the described constants stay\n");
}

std::string not_fitted(std::size_t rows, std::string_view what) {
  return rows == 0 ? "" : fmt::format("{} rows not fitted: {}\n", rows, what);
}

std::string outliers(const Calibrated& calibrated) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < calibrated.outliers.size(); ++i) {
    if (i == kShown) {
      return text + fmt::format("... {} more rows not used (--format json lists them)\n",
                                calibrated.outliers.size() - kShown);
    }
    text += fmt::format("not used: {} line {}: {}\n", calibrated.outlier_sets[i],
                        calibrated.outliers[i].line, calibrated.outliers[i].message);
  }
  return text;
}

Json held_out_json(const HeldOutScore& score) {
  return {{"group", score.group},
          {"rows", score.rows},
          {"kernels", score.kernels},
          {"mean_absolute_log_error_before", score.before},
          {"mean_absolute_log_error_after", score.after},
          {"noise", score.noise}};
}

std::string hybrid_text(const hybrid::FittedHybrid& fitted) {
  return fmt::format("\nhybrid of the device as described: {} rows of {} kernels\n{}", fitted.rows,
                     fitted.kernels, trials_text(fitted.report));
}

std::string share_cell(const std::optional<double>& share) {
  return share ? percent(*share) : "-";
}

Json hybrid_json(const hybrid::FittedHybrid& fitted) {
  return {{"rows", fitted.rows},
          {"kernels", fitted.kernels},
          {"trial_by", learned::kValidateBy[static_cast<std::size_t>(fitted.trial_by)]},
          {"trials", trials_json(fitted.report)}};
}

}  // namespace

std::string calibration_text(const hybrid::PreparedFit& prepared,
                             const hybrid::FittedHybrid* fitted) {
  const Calibrated& calibrated = prepared.calibrated.front();
  std::string apart;
  for (const hybrid::SetApart& one : prepared.apart) apart += one.text() + "\n";
  const std::string constants = fmt::format(
      "{}fitted to {} rows of {} kernels, cross-validated in {} folds; scatter of a good row {} "
      "%\n{}{}\n{}\n"
      "{}{}{}left: {}\n",
      apart, calibrated.rows, calibrated.kernels, calibrated.folds, percent(calibrated.scatter),
      not_fitted(calibrated.programs,
                 "times of whole programs, which hold what is between kernels"),
      not_fitted(calibrated.unanswered, "of work that the model cannot answer"),
      constants_table(calibrated), held_out_table(calibrated), outliers(calibrated),
      verdict(calibrated), calibrated.left);
  return fitted == nullptr ? constants : constants + hybrid_text(*fitted);
}

std::string calibration_json(const hybrid::PreparedFit& prepared,
                             const hybrid::FittedHybrid* fitted) {
  const Calibrated& calibrated = prepared.calibrated.front();
  Json json = {{"schema", "tilecast.calibrate/1"}, {"device", calibrated.device.name}};
  TC_ADD_MEMBERS(json, calibrated, accepted, refused_as_suspicious, rows, kernels, folds);
  json["programs_not_used"] = calibrated.programs;
  TC_ADD_MEMBERS(json, calibrated, unanswered, scatter, left);
  for (const FittedConstant& c : calibrated.constants) {
    json["constants"].push_back({{"name", c.name},
                                 {"unit", c.is_time ? "s" : "factor"},
                                 {"described", c.described},
                                 {"fitted", c.fitted},
                                 {"interval_95", {c.low, c.high}},
                                 {"prior_95", {c.prior_low, c.prior_high}},
                                 {"identified", c.knowledge == hybrid::Knowledge::kRows},
                                 {"kept", c.knowledge == hybrid::Knowledge::kDescription},
                                 {"deviations", c.deviations},
                                 {"at_bound", c.at_bound},
                                 {"suspicious", c.suspicious()}});
  }
  for (const HeldOutScore& score : calibrated.held_out) {
    json["held_out"].push_back(held_out_json(score));
  }
  json["refused"] = Json::array();
  for (const hybrid::RefusedFit& fit : calibrated.refused) {
    json["refused"].push_back({{"constants", fit.constants}, {"worst", held_out_json(fit.worst)}});
  }
  json["outliers"] = Json::array();
  for (std::size_t i = 0; i < calibrated.outliers.size(); ++i) {
    json["outliers"].push_back({{"set", calibrated.outlier_sets[i]},
                                {"line", calibrated.outliers[i].line},
                                {"message", calibrated.outliers[i].message}});
  }
  json["set_apart"] = Json::array();
  for (const hybrid::SetApart& apart : prepared.apart) {
    json["set_apart"].push_back(
        {{"op_class", apart.op_class}, {"reason", apart.reason}, {"rows", Json::array()}});
    for (const auto& [set, line] : apart.rows) {
      json["set_apart"].back()["rows"].push_back({{"set", set}, {"line", line}});
    }
  }
  if (fitted != nullptr) json["hybrid"] = hybrid_json(*fitted);
  return json_text(json, 2);
}

std::string quantity_text(const learned::QuantityReport& report) {
  const std::string& unit = report.target.unit;
  TextTable table({"rows of", ">n", ">works", "model", ">RMSE " + unit, ">RMSE % of range",
                   ">mean |error| " + unit, ">exact %"});
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
