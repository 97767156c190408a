#include "sim/views/training.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/evaluation.h"
#include "sim/views/experiment.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using hybrid::Experiment;
using hybrid::TrainingResult;
using learned::Metric;
using Json = nlohmann::ordered_json;

std::string rows_text(const std::vector<learned::ModelData>& data) {
  std::string out;
  for (const learned::ModelData& set : data) {
    out += fmt::format("data    {} on {}: {} rows train, {} stop it, {} held out; licence {}\n",
                       set.name, set.device, set.train, set.validation, set.test, set.licence);
  }
  return out;
}

Json metrics_json(const TrainingResult& result, const Experiment& experiment) {
  Json all = Json::array();
  for (std::size_t i = 0; i < experiment.columns.size(); ++i) {
    for (const Metric metric : experiment.metrics) {
      const learned::Score& score = result.scores.columns[i][metric];
      Json one = {{"model", experiment.columns[i]}, {"metric", learned::name(metric)}};
      one["value"] = score.value ? Json(*score.value) : Json(nullptr);
      if (score.interval) one["interval_95"] = {score.interval->low, score.interval->high};
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace

std::string training_plan(const hybrid::Training& training) {
  const learned::LearnerSpec& spec = training.learner();
  std::string out = fmt::format("would train {}: {}{}\nsplit   {}, the first of them\n", spec.name,
                                spec.kind == learned::LearnerKind::kXgboost ? "xgboost" : "network",
                                spec.ranks_only() ? " that only ranks tiles" : "",
                                split_text(training.experiment().split));
  out += rows_text(training.rows());
  for (const auto& [name, value] : learned::settings_of(spec)) {
    out += fmt::format("setting {}: {}\n", name, value);
  }
  return out;
}

std::string training_text(const TrainingResult& result, const Experiment& experiment,
                          const std::string& directory) {
  std::string out = fmt::format("{}: trained in {:.1f} s, written to {}\nsplit   {}\n",
                                experiment.learners.front().name, result.trained.seconds, directory,
                                result.about.split);
  out += rows_text(result.about.data);
  out += fmt::format("held out: n = {} rows, {} works\n", result.scores.rows, result.scores.works);
  std::vector<Column> columns{{"model"}};
  for (const Metric metric : experiment.metrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < experiment.columns.size(); ++i) {
    std::vector<std::string> cells{experiment.columns[i]};
    for (const Metric metric : experiment.metrics) {
      cells.push_back(metric_cell(metric, result.scores.columns[i][metric]));
    }
    table.add(cells);
  }
  out += table.render();
  for (const std::string& note : result.notes) out += fmt::format("note    {}\n", note);
  return out;
}

std::string training_json(const TrainingResult& result, const Experiment& experiment,
                          const std::string& directory) {
  Json data = Json::array();
  for (const learned::ModelData& set : result.about.data) {
    data.push_back({{"name", set.name},
                    {"hash", set.hash},
                    {"device", set.device},
                    {"licence", set.licence},
                    {"train", set.train},
                    {"validation", set.validation},
                    {"test", set.test}});
  }
  const Json json = {{"schema", "tilecast.train/1"},
                     {"name", experiment.learners.front().name},
                     {"directory", directory},
                     {"seconds", result.trained.seconds},
                     {"split", result.about.split},
                     {"data", data},
                     {"rows", result.scores.rows},
                     {"works", result.scores.works},
                     {"metrics", metrics_json(result, experiment)},
                     {"notes", result.notes}};
  return json.dump(2) + "\n";
}

}  // namespace tilecast::sim::views
