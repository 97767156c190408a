#include "sim/views/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name(search::Strategy strategy) {
  return search::kStrategies[static_cast<std::size_t>(strategy)];
}

std::size_t failures(const search::TuneResult& result) {
  return static_cast<std::size_t>(
      std::ranges::count_if(result.trials, [](const auto& trial) { return !trial.measured; }));
}

std::string cell(const std::optional<double>& time) {
  return time ? microseconds(*time) : "-";
}

}  // namespace

std::string tuning_text(const TuningReport& report) {
  constexpr std::size_t kShown = 5;
  std::vector<const search::TuneTrial*> order;
  for (const search::TuneTrial& trial : report.result.trials) {
    if (trial.measured) order.push_back(&trial);
  }
  std::ranges::stable_sort(order, {}, [](const auto* trial) { return *trial->measured; });
  TextTable table({{"index", Align::kRight},
                   {"tile", Align::kLeft, 100},
                   {"measured us", Align::kRight},
                   {"predicted us", Align::kRight},
                   {"trial", Align::kRight}});
  for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
    const auto& trial = *order[i];
    table.add({fmt::format("{}", trial.candidate), report.tiles[trial.candidate],
               cell(trial.measured), cell(trial.predicted),
               fmt::format("{}", order[i] - report.result.trials.data() + 1)});
  }
  std::string text =
      fmt::format("kernel {}: {} tiles on {}, {} of them answered by {}; strategy {}\n{}",
                  report.kernel, report.candidates, report.device, report.answered, report.model,
                  report.strategy, table.render());
  const std::size_t failed = failures(report.result);
  const std::string trials = failed == 0 ? fmt::format("{} trials", report.result.trials.size())
                                         : fmt::format("{} trials, {} of them failed",
                                                       report.result.trials.size(), failed);
  if (order.empty()) return text + fmt::format("best: none; {}\n", trials);
  const search::TuneTrial& best = *order.front();
  return text + fmt::format("best: {}; measured {} us, predicted {} us, {}\n",
                            report.tiles[best.candidate], cell(best.measured), cell(best.predicted),
                            trials);
}

std::string tuning_json(const TuningReport& report) {
  Json json = {{"schema", "tilecast.tune/1"},
               {"kernel", report.kernel},
               {"device", report.device},
               {"model", report.model},
               {"strategy", report.strategy},
               {"candidates", report.candidates},
               {"answered", report.answered},
               {"failed", failures(report.result)},
               {"best", nullptr},
               {"trials", Json::array()}};
  for (const search::TuneTrial& trial : report.result.trials) {
    json["trials"].push_back({{"index", trial.candidate},
                              {"tile", report.tiles[trial.candidate]},
                              {"predicted_s", json_number(trial.predicted)},
                              {"measured_s", json_number(trial.measured)}});
  }
  if (report.result.best) json["best"] = json["trials"][*report.result.best];
  return json_text(json, 2);
}

std::string comparison_text(const TuneComparison& comparison) {
  std::vector<Column> columns = {{"strategy"}};
  for (const search::BestFound& at : comparison.strategies.front().at) {
    columns.push_back({fmt::format("{} trials %", at.trials), Align::kRight});
    columns.push_back({"95 % interval", Align::kRight});
    columns.push_back({"least", Align::kRight});
  }
  TextTable table(columns);
  for (const search::ComparedStrategy& row : comparison.strategies) {
    std::vector<std::string> cells = {std::string(name(row.strategy))};
    for (const search::BestFound& at : row.at) {
      cells.push_back(percent(at.mean));
      cells.push_back(fmt::format("[{}, {}]", percent(at.interval.low), percent(at.interval.high)));
      cells.push_back(percent(at.least));
    }
    table.add(std::move(cells));
  }
  const bool one = comparison.kernels == 1;
  return fmt::format(
      "{}: {} tiles measured on {}, {} of them answered by {}\n"
      "{}within 5 % of the fastest: {}\n"
      "fastest of all over fastest found, mean of {}{} seeds, batches of {}:\n{}",
      one ? "kernel " + comparison.kernel : fmt::format("{} kernels", comparison.kernels),
      comparison.candidates, comparison.device, comparison.answered, comparison.model,
      one ? fmt::format("fastest {} us; ", microseconds(comparison.fastest_s)) : "",
      comparison.within_5_percent, one ? "" : fmt::format("{} kernels and ", comparison.kernels),
      comparison.seeds, comparison.batch, table.render());
}

std::string comparison_json(const TuneComparison& comparison) {
  Json json = {{"schema", "tilecast.tune_compare/1"},
               {"kernel", comparison.kernels == 1 ? Json(comparison.kernel) : Json(nullptr)},
               {"kernels", comparison.kernels},
               {"device", comparison.device},
               {"model", comparison.model},
               {"candidates", comparison.candidates},
               {"answered", comparison.answered},
               {"fastest_s", comparison.kernels == 1 ? Json(comparison.fastest_s) : Json(nullptr)},
               {"within_5_percent", comparison.within_5_percent},
               {"seeds", comparison.seeds},
               {"batch", comparison.batch}};
  for (const search::ComparedStrategy& row : comparison.strategies) {
    for (const search::BestFound& at : row.at) {
      json["rows"].push_back({{"strategy", name(row.strategy)},
                              {"trials", at.trials},
                              {"best_in_top", at.mean},
                              {"interval_95", {at.interval.low, at.interval.high}},
                              {"least", at.least}});
    }
  }
  return json_text(json, 2);
}

}  // namespace tilecast::sim::views
