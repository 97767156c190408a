#include "sim/views/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using hybrid::Calibrated;
using hybrid::FittedConstant;
using hybrid::LeftOut;
using Json = nlohmann::ordered_json;

std::string shown(const FittedConstant& constant, double value) {
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
    table.add({c.name, shown(c, c.described), shown(c, c.fitted),
               fmt::format("{} .. {}", shown(c, c.low), shown(c, c.high)),
               fmt::format("{} .. {}", shown(c, c.prior_low), shown(c, c.prior_high)),
               knowledge(c.knowledge)});
  }
  return table.render();
}

std::string left_out_table(const Calibrated& calibrated) {
  TextTable table({{"left out"},
                   {"rows", Align::kRight},
                   {"median APE % before", Align::kRight},
                   {"after", Align::kRight},
                   {"p90 APE % before", Align::kRight},
                   {"after", Align::kRight},
                   {""}});
  for (const LeftOut& score : calibrated.left_out) {
    table.add({score.op_class.empty() ? "all" : score.op_class, fmt::format("{}", score.rows),
               percent(score.median_before), percent(score.median_after), percent(score.p90_before),
               percent(score.p90_after), score.worse() ? "worse" : ""});
  }
  return table.render();
}

std::string verdict(const Calibrated& calibrated) {
  if (calibrated.constants.empty()) return "kept: the rows identify no constant\n";
  std::string text;
  for (const hybrid::Attempt& attempt : calibrated.refused) {
    text += fmt::format(
        "refused: fitting {} makes left-out rows worse (median {} -> {} %, p90 {} -> {} %)\n",
        fmt::join(attempt.constants, ", "), percent(attempt.all.median_before),
        percent(attempt.all.median_after), percent(attempt.all.p90_before),
        percent(attempt.all.p90_after));
  }
  text += calibrated.accepted
              ? "accepted: kernels that were left out are predicted no worse, median and p90\n"
              : "kept: no fit helps rows it has not seen; the described constants stay\n";
  return text;
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

Json left_out_json(const LeftOut& score) {
  return {{"op_class", score.op_class},
          {"rows", score.rows},
          {"median_ape_before", score.median_before},
          {"median_ape_after", score.median_after},
          {"p90_ape_before", score.p90_before},
          {"p90_ape_after", score.p90_after}};
}

}  // namespace

std::string calibration_text(const Calibrated& calibrated) {
  return fmt::format(
      "fitted to {} rows of {} kernels, {} left out in turn; scatter of a good row {} %\n{}\n{}\n"
      "{}{}{}",
      calibrated.rows, calibrated.kernels, calibrated.folds, percent(calibrated.scatter),
      calibrated.unanswered > 0
          ? fmt::format("{} rows the model cannot answer were not used\n", calibrated.unanswered)
          : "",
      constants_table(calibrated), left_out_table(calibrated), outliers(calibrated),
      verdict(calibrated));
}

std::string calibration_json(const Calibrated& calibrated) {
  Json json = {{"schema", "tilecast.calibrate/1"},    {"device", calibrated.device.name},
               {"accepted", calibrated.accepted},     {"rows", calibrated.rows},
               {"kernels", calibrated.kernels},       {"folds", calibrated.folds},
               {"unanswered", calibrated.unanswered}, {"scatter", calibrated.scatter}};
  for (const FittedConstant& c : calibrated.constants) {
    json["constants"].push_back({{"name", c.name},
                                 {"unit", c.is_time ? "s" : "factor"},
                                 {"described", c.described},
                                 {"fitted", c.fitted},
                                 {"interval_95", {c.low, c.high}},
                                 {"prior_95", {c.prior_low, c.prior_high}},
                                 {"identified", c.knowledge == hybrid::Knowledge::kRows},
                                 {"kept", c.knowledge == hybrid::Knowledge::kDescription}});
  }
  for (const LeftOut& score : calibrated.left_out) {
    json["left_out"].push_back(left_out_json(score));
  }
  json["refused"] = Json::array();
  for (const hybrid::Attempt& attempt : calibrated.refused) {
    json["refused"].push_back(
        {{"constants", attempt.constants}, {"left_out", left_out_json(attempt.all)}});
  }
  json["outliers"] = Json::array();
  for (std::size_t i = 0; i < calibrated.outliers.size(); ++i) {
    json["outliers"].push_back({{"set", calibrated.outlier_sets[i]},
                                {"line", calibrated.outliers[i].line},
                                {"message", calibrated.outliers[i].message}});
  }
  return json.dump(2) + "\n";
}

}  // namespace tilecast::sim::views
