#include "sim/views/training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/views/evaluation.h"
#include "sim/views/quantities.h"
#include "sim/views/rows.h"
#include "sim/views/text_table.h"
#include "sim/views/trials.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using training::Training;
using training::TrainingResult;
using Json = nlohmann::ordered_json;

std::string rows_text(const std::vector<learned::ModelData>& data) {
  std::string out;
  for (const learned::ModelData& set : data) {
    out += fmt::format("data    {} on {}: {} rows train, {} stop it, {} held out; licence {}\n",
                       set.name, set.device, set.train, set.validation, set.test, set.licence);
  }
  return out;
}

// Metrics by the op classes and sets that the experiment requests.
std::string parts_text(const learned::ModelCard& card) {
  TextTable table({{"of"},
                   {"n", Align::kRight},
                   {"analytical MAPE %", Align::kRight},
                   {"model MAPE %", Align::kRight}});
  bool any = false;
  for (const learned::ModelMetric& metric : card.metrics) {
    if (metric.of.empty()) continue;
    any = true;
    table.add({metric.of, std::to_string(metric.n),
               metric.baseline ? percent(*metric.baseline) : "-", percent(metric.value)});
  }
  return any ? table.render() : "";
}

std::string scores_text(const Training& training, const TrainingResult& result) {
  std::string out =
      fmt::format("held out: n = {} rows, {} works\n", result.scores.rows, result.scores.works);
  std::vector<Column> columns{{"model"}};
  for (const Metric metric : training.file().metrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  const std::vector<std::string> models = training.columns();
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<std::string> cells{models[i]};
    for (const Metric metric : training.file().metrics) {
      cells.push_back(metric_cell(metric, result.scores.columns[i][metric]));
    }
    table.add(cells);
  }
  return out + table.render() + parts_text(result.card);
}

Json metrics_json(const Training& training, const measured::Stratum& scores) {
  Json all = Json::array();
  const std::vector<std::string> models = training.columns();
  for (std::size_t i = 0; i < scores.columns.size(); ++i) {
    for (const Metric metric : training.file().metrics) {
      const measured::Score& score = scores.columns[i][metric];
      Json one = {{"model", models[i]}, {"metric", measured::name(metric)}};
      one["value"] = json_number(score.value);
      if (score.interval) one["interval_95"] = {score.interval->low, score.interval->high};
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace

std::string training_plan(const Training& training) {
  const learned::LearnerSpec* spec = training.learner();
  std::string out =
      spec == nullptr
          ? fmt::format("would fit {}: a bag of {} times trees on what physics leaves\n",
                        training.name(), training.hybrid().members)
          : fmt::format("would train {}: {}{}\n", spec->name, learned::name(spec->kind),
                        spec->ranks_only() ? " that only ranks tiles" : "");
  out += fmt::format("split   {}, the first of them\n", split_text(training.file().split));
  out += rows_text(training.rows());
  if (spec == nullptr) return out;
  for (const auto& [name, value] : learned::settings_of(*spec)) {
    out += fmt::format("setting {}: {}\n", name, value);
  }
  return out;
}

std::string training_text(const Training& training, const TrainingResult& result,
                          const std::string& directory) {
  std::string out = fmt::format("{}: trained in {:.1f} s, written to {}\nsplit   {}\n",
                                training.name(), result.seconds, directory, result.card.split);
  out += rows_text(result.card.data);
  if (result.trials) out += trials_text(*result.trials);
  out += result.quantity ? "held out: " + quantity_text(*result.quantity)
                         : scores_text(training, result);
  for (const std::string& note : result.notes) out += fmt::format("note    {}\n", note);
  return out;
}

std::string training_json(const Training& training, const TrainingResult& result,
                          const std::string& directory) {
  Json data = Json::array();
  for (const learned::ModelData& set : result.card.data) {
    data.push_back({{"name", set.name},
                    {"hash", set.hash},
                    {"device", set.device},
                    {"licence", set.licence},
                    {"train", set.train},
                    {"validation", set.validation},
                    {"test", set.test}});
  }
  Json json = {{"schema", "tilecast.train/1"},
               {"name", training.name()},
               {"directory", directory},
               {"seconds", result.seconds},
               {"split", result.card.split},
               {"data", std::move(data)},
               {"rows", result.scores.rows},
               {"works", result.scores.works},
               {"metrics", metrics_json(training, result.scores)},
               {"notes", result.notes}};
  if (result.quantity) {
    const learned::QuantityStratum& all = result.quantity->strata.front();
    json["rows"] = all.rows;
    json["works"] = all.works;
    json["quantity"] = quantity_json(*result.quantity);
  }
  if (result.trials) json["trials"] = trials_json(*result.trials);
  return json_text(json, 2);
}

}  // namespace tilecast::sim::views
