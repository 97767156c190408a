#include "sim/views/training.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/evaluation.h"
#include "sim/views/experiment.h"
#include "sim/views/quantities.h"
#include "sim/views/text_table.h"
#include "sim/views/trials.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using validation::Experiment;
using validation::TrainingResult;
using Json = nlohmann::ordered_json;

std::string rows_text(const std::vector<learned::ModelData>& data) {
  std::string out;
  for (const learned::ModelData& set : data) {
    out += fmt::format("data    {} on {}: {} rows train, {} stop it, {} held out; licence {}\n",
                       set.name, set.device, set.train, set.validation, set.test, set.licence);
  }
  return out;
}

Json metrics_json(const measured::Stratum& scores, const Experiment& experiment) {
  Json all = Json::array();
  for (std::size_t i = 0; i < scores.columns.size(); ++i) {
    for (const Metric metric : experiment.metrics) {
      const measured::Score& score = scores.columns[i][metric];
      Json one = {{"model", experiment.columns[i]}, {"metric", measured::name(metric)}};
      one["value"] = score.value ? Json(*score.value) : Json(nullptr);
      if (score.interval) one["interval_95"] = {score.interval->low, score.interval->high};
      all.push_back(std::move(one));
    }
  }
  return all;
}

// What a trained learner and a fitted hybrid have in common.
struct Made {
  const std::string& name;
  double seconds = 0;
  const learned::ModelCard& card;
  const measured::Stratum& scores;
  const std::vector<std::string>& notes;
};

Made made(const TrainingResult& result, const Experiment& experiment) {
  return {.name = experiment.learners.front().name,
          .seconds = result.trained.seconds,
          .card = result.about,
          .scores = result.scores,
          .notes = result.notes};
}

Made made(const validation::HybridTrainingResult& result, const Experiment& experiment) {
  return {.name = experiment.hybrids.front().name,
          .seconds = result.card.training_seconds,
          .card = result.card,
          .scores = result.scores,
          .notes = result.notes};
}

std::string head_text(const Made& made, const std::string& directory) {
  return fmt::format("{}: trained in {:.1f} s, written to {}\nsplit   {}\n", made.name,
                     made.seconds, directory, made.card.split) +
         rows_text(made.card.data);
}

// Of the op classes and sets that the experiment asks for.
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

std::string scores_text(const Made& made, const Experiment& experiment) {
  std::string out =
      fmt::format("held out: n = {} rows, {} works\n", made.scores.rows, made.scores.works);
  std::vector<Column> columns{{"model"}};
  for (const Metric metric : experiment.metrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < experiment.columns.size(); ++i) {
    std::vector<std::string> cells{experiment.columns[i]};
    for (const Metric metric : experiment.metrics) {
      cells.push_back(metric_cell(metric, made.scores.columns[i][metric]));
    }
    table.add(cells);
  }
  out += table.render() + parts_text(made.card);
  for (const std::string& note : made.notes) out += fmt::format("note    {}\n", note);
  return out;
}

Json made_json(const Made& made, const Experiment& experiment, const std::string& directory) {
  Json data = Json::array();
  for (const learned::ModelData& set : made.card.data) {
    data.push_back({{"name", set.name},
                    {"hash", set.hash},
                    {"device", set.device},
                    {"licence", set.licence},
                    {"train", set.train},
                    {"validation", set.validation},
                    {"test", set.test}});
  }
  return {{"schema", "tilecast.train/1"},
          {"name", made.name},
          {"directory", directory},
          {"seconds", made.seconds},
          {"split", made.card.split},
          {"data", std::move(data)},
          {"rows", made.scores.rows},
          {"works", made.scores.works},
          {"metrics", metrics_json(made.scores, experiment)},
          {"notes", made.notes}};
}

}  // namespace

std::string training_plan(const validation::Training& training) {
  const learned::LearnerSpec& spec = training.learner();
  std::string out = fmt::format(
      "would train {}: {}{}\nsplit   {}, the first of them\n", spec.name, learned::name(spec.kind),
      spec.ranks_only() ? " that only ranks tiles" : "", split_text(training.experiment().split));
  out += rows_text(training.rows());
  for (const auto& [name, value] : learned::settings_of(spec)) {
    out += fmt::format("setting {}: {}\n", name, value);
  }
  return out;
}

std::string training_text(const TrainingResult& result, const Experiment& experiment,
                          const std::string& directory) {
  const Made model = made(result, experiment);
  if (!result.quantity) return head_text(model, directory) + scores_text(model, experiment);
  std::string out = head_text(model, directory) + "held out: " + quantity_text(*result.quantity);
  for (const std::string& note : model.notes) out += fmt::format("note    {}\n", note);
  return out;
}

std::string training_json(const TrainingResult& result, const Experiment& experiment,
                          const std::string& directory) {
  const Made model = made(result, experiment);
  Json json = made_json(model, experiment, directory);
  if (result.quantity) {
    const learned::QuantityStratum& all = result.quantity->strata.front();
    json["rows"] = all.rows;
    json["works"] = all.works;
    json["metrics"] = Json::array();
    json["quantity"] = quantity_json(*result.quantity);
  }
  return json.dump(2) + "\n";
}

std::string hybrid_plan(const validation::HybridTraining& training) {
  const hybrid::HybridSpec& spec = training.spec();
  return fmt::format(
             "would fit {}: a bag of {} times trees on what physics leaves\nsplit   {}, the "
             "first of them\n",
             spec.name, spec.members, split_text(training.experiment().split)) +
         rows_text(training.rows());
}

std::string hybrid_text(const validation::HybridTrainingResult& result,
                        const Experiment& experiment, const std::string& directory) {
  const Made model = made(result, experiment);
  return head_text(model, directory) + trials_text(result.report) + scores_text(model, experiment);
}

std::string hybrid_json(const validation::HybridTrainingResult& result,
                        const Experiment& experiment, const std::string& directory) {
  Json json = made_json(made(result, experiment), experiment, directory);
  json["trials"] = trials_json(result.report);
  return json.dump(2) + "\n";
}

}  // namespace tilecast::sim::views
