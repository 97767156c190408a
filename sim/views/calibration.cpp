#include "sim/views/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using hybrid::Calibrated;
using hybrid::FittedConstant;
using hybrid::HeldOutScore;
using Json = nlohmann::ordered_json;

std::string value_cell(const FittedConstant& constant, double value) {
  return constant.is_time ? microseconds(value) + " us" : fmt::format("x {:.3f}", value);
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
  TextTable table({{"constant"},
                   {"described", Align::kRight},
                   {"fitted", Align::kRight},
                   {"95 % interval", Align::kRight},
                   {"prior's 95 %", Align::kRight},
                   {"from"}});
  for (const FittedConstant& c : calibrated.constants) {
    table.add({c.name, value_cell(c, c.described), value_cell(c, c.fitted),
               fmt::format("{} .. {}", value_cell(c, c.low), value_cell(c, c.high)),
               fmt::format("{} .. {}", value_cell(c, c.prior_low), value_cell(c, c.prior_high)),
               knowledge(c.knowledge)});
  }
  return table.render();
}

std::string held_out_table(const Calibrated& calibrated) {
  TextTable table({{"held out"},
                   {"rows", Align::kRight},
                   {"median APE % before", Align::kRight},
                   {"after", Align::kRight},
                   {"p90 APE % before", Align::kRight},
                   {"after", Align::kRight},
                   {""}});
  for (const HeldOutScore& score : calibrated.held_out) {
    table.add({score.op_class.empty() ? "all" : score.op_class, fmt::format("{}", score.rows),
               percent(score.median_before), percent(score.median_after), percent(score.p90_before),
               percent(score.p90_after), score.worse() ? "worse" : ""});
  }
  return table.render();
}

std::string verdict(const Calibrated& calibrated) {
  if (calibrated.constants.empty()) return "kept: the rows identify no constant\n";
  std::string text;
  for (const hybrid::RefusedFit& fit : calibrated.refused) {
    text += fmt::format(
        "refused: fitting {} makes held-out rows worse (median {} -> {} %, p90 {} -> {} %)\n",
        fmt::join(fit.constants, ", "), percent(fit.all.median_before),
        percent(fit.all.median_after), percent(fit.all.p90_before), percent(fit.all.p90_after));
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
                     ? "accepted: held-out kernels are predicted no worse, median and p90\n"
                     : "kept: no fit helps rows it has not seen; the described constants stay\n");
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
  return {{"op_class", score.op_class},
          {"rows", score.rows},
          {"median_ape_before", score.median_before},
          {"median_ape_after", score.median_after},
          {"p90_ape_before", score.p90_before},
          {"p90_ape_after", score.p90_after}};
}

// How a known kernel would be assessed, and one of a kind that was never measured.
struct Trusted {
  std::string what;
  hybrid::Trust::Assessment assessment;
};
std::vector<Trusted> trusted(const hybrid::FittedHybrid& fitted) {
  constexpr double kShort = 0, kLong = std::numeric_limits<double>::infinity();
  const hybrid::Trust& trust = fitted.parts.trust;
  std::vector<Trusted> rows;
  for (const std::string& kind : fitted.parts.domain.kinds()) {
    const hybrid::Position known = trust.example(hybrid::binding_of(kind), false);
    const auto short_ = trust.assess(known, kind, kShort);
    const auto long_ = trust.assess(known, kind, kLong);
    const bool same = short_.low == long_.low && short_.high == long_.high;
    rows.push_back({kind + (same ? "" : "; short"), short_});
    if (!same) rows.push_back({kind + "; long", long_});
  }
  rows.push_back({"anything else", trust.assess(hybrid::Position{}, "", kLong)});
  return rows;
}

std::string hybrid_text(const hybrid::FittedHybrid& fitted) {
  TextTable tried({{"candidate"},
                   {"mean |log error| % of held-out trials", Align::kRight},
                   {"standard error of its difference", Align::kRight},
                   {""}});
  for (const hybrid::CandidateScore& score : fitted.candidates) {
    const bool untried = score.name.ends_with(")");  // "(too few rows)", hybrid/hybrid_fit.cpp
    tried.add({score.name, untried ? "-" : percent(score.error),
               untried ? "-" : percent(score.deviation),
               score.name == fitted.chosen ? "chosen" : ""});
  }
  TextTable trust({{"near known kernels of"},
                   {"weight", Align::kRight},
                   {"90 % interval of measured / predicted", Align::kRight}});
  for (const Trusted& row : trusted(fitted)) {
    trust.add({row.what, fmt::format("{:.2f}", row.assessment.weight),
               fmt::format("{:.2f} .. {:.2f}", std::exp(row.assessment.low),
                           std::exp(row.assessment.high))});
  }
  return fmt::format(
      "\nhybrid: {} rows of {} kernels; trials held out one {} after the other\n{}\n{}",
      fitted.rows, fitted.kernels, learned::kValidateBy[static_cast<std::size_t>(fitted.trial_by)],
      tried.render(), trust.render());
}

Json hybrid_json(const hybrid::FittedHybrid& fitted) {
  Json json = {{"rows", fitted.rows},
               {"kernels", fitted.kernels},
               {"trial_by", learned::kValidateBy[static_cast<std::size_t>(fitted.trial_by)]},
               {"chosen", fitted.chosen}};
  for (const hybrid::CandidateScore& score : fitted.candidates) {
    json["candidates"].push_back({{"name", score.name},
                                  {"mean_absolute_log_error", score.error},
                                  {"deviation", score.deviation}});
  }
  for (const Trusted& row : trusted(fitted)) {
    json["trust"].push_back(
        {{"kernels", row.what},
         {"weight", row.assessment.weight},
         {"interval_90", {std::exp(row.assessment.low), std::exp(row.assessment.high)}}});
  }
  return json;
}

}  // namespace

std::string calibration_text(const hybrid::PreparedFit& prepared,
                             const hybrid::FittedHybrid* fitted) {
  const Calibrated& calibrated = prepared.calibrated.front();
  std::string apart;
  for (const hybrid::SetApart& one : prepared.apart) apart += one.text() + "\n";
  const std::string constants = fmt::format(
      "{}fitted to {} rows of {} kernels, cross-validated in {} folds; scatter of a good row {} "
      "%\n{}\n{}\n"
      "{}{}{}",
      apart, calibrated.rows, calibrated.kernels, calibrated.folds, percent(calibrated.scatter),
      calibrated.unanswered > 0
          ? fmt::format("{} rows the model cannot answer were not used\n", calibrated.unanswered)
          : "",
      constants_table(calibrated), held_out_table(calibrated), outliers(calibrated),
      verdict(calibrated));
  return fitted == nullptr ? constants : constants + hybrid_text(*fitted);
}

std::string calibration_json(const hybrid::PreparedFit& prepared,
                             const hybrid::FittedHybrid* fitted) {
  const Calibrated& calibrated = prepared.calibrated.front();
  Json json = {{"schema", "tilecast.calibrate/1"},
               {"device", calibrated.device.name},
               {"accepted", calibrated.accepted},
               {"refused_as_suspicious", calibrated.refused_as_suspicious},
               {"rows", calibrated.rows},
               {"kernels", calibrated.kernels},
               {"folds", calibrated.folds},
               {"unanswered", calibrated.unanswered},
               {"scatter", calibrated.scatter}};
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
    json["refused"].push_back({{"constants", fit.constants}, {"held_out", held_out_json(fit.all)}});
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
  return json.dump(2) + "\n";
}

}  // namespace tilecast::sim::views
