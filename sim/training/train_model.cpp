#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "sim/calibration.h"
#include "sim/model_choice.h"
#include "sim/modules.h"
#include "sim/training/training.h"
#include "sim/version.h"
#include "sim/views/evaluation.h"
#include "sim/views/fits.h"
#include "sim/views/rows.h"

// The result of a training as text, and as JSON, schema "tilecast.train/1": name, model, directory,
// seconds, split, data[], metrics[] (of roofline, analytical and the model, on the same held-out
// rows), notes[]; for a target other than time also `quantity`, for a hybrid also trials
// (views/fits.h).
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
  TextTable table({"of", ">n", ">analytical MAPE %", ">model MAPE %"});
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
  std::vector<Column> columns{"model"};
  for (const Metric metric : training.file().metrics) {
    columns.push_back(">" + metric_title(metric));
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

std::string plan_text(const Training& training) {
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
    TC_ADD_MEMBERS(data.emplace_back(), set, name, hash, device, licence, train, validation, test);
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

}  // namespace
}  // namespace tilecast::sim::views

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using training::Training;
using training::TrainingResult;

void require_data(const training::ImportedData& data, const training::TrainingFile& file) {
  if (const auto missing = data.missing(file)) {
    throw Error(
        "{}: {} not found; name the folder of third-party data with --data or $TILECAST_SHARED",
        file.file, *missing);
  }
}

// Removes the remains of an interrupted training unless it is resumed.
void prepare_folder(const TrainingRequest& request, const std::string& checkpoint) {
  check_model_folder(request.directory, request.force);
  std::error_code failure;
  if (!request.resume) {
    fs::remove(checkpoint, failure);
  } else if (!fs::exists(checkpoint, failure)) {
    throw Error("{}: not found; nothing to resume", checkpoint);
  }
}

learned::LearnerHooks learner_hooks(const TrainingRequest& request, const TrainingHooks& hooks,
                                    const learned::LearnerSpec& learner,
                                    const std::string& checkpoint) {
  learned::LearnerHooks result{.step = hooks.step, .threads = request.jobs};
  const bool searches = learner.search.trials > 0;
  if (learner.kind == learned::LearnerKind::kNetwork && !searches) {
    result.checkpoint = checkpoint;
  } else if (request.resume) {
    throw Error("--resume: only networks without a search resume from a checkpoint");
  }
  return result;
}

}  // namespace

std::string data_folder(const std::string& given, const std::string& experiment) {
  if (!given.empty()) return given;
  if (const char* shared = std::getenv("TILECAST_SHARED"); shared && *shared) return shared;
  const fs::path folder = fs::absolute(experiment).parent_path();
  return (folder / "../../../shared").lexically_normal().string();
}

TrainedModel train_model(const TrainingRequest& request, const TrainingHooks& hooks) {
  const training::TrainingFile file = training::read_training_file(request.experiment);
  training::ImportedData data(data_folder(request.data, request.experiment));
  require_data(data, file);
  if (request.directory.empty()) throw UsageError("--out is required: the folder of the model");
  const std::string checkpoint = request.directory + ".checkpoint";
  prepare_folder(request, checkpoint);
  const Training training(analytical_prior(), file, data, request.learner, request.jobs);
  training::Steps steps{.hybrid = hooks.hybrid_step};
  if (const learned::LearnerSpec* learner = training.learner()) {
    steps.learner = learner_hooks(request, hooks, *learner, checkpoint);
  } else if (request.resume) {
    throw Error("--resume: a hybrid is fitted as a whole");
  }
  hooks.begin((training.learner() != nullptr ? "train " : "fit ") + training.name());
  TrainingResult result = training.run(steps);
  result.card.created = base::today();
  result.card.split = training::split_text(training.file().split);
  if (training.rounds() > 1) {
    result.card.split += fmt::format("; trained on the first of {}", training.rounds());
  }
  result.card.versions.insert(result.card.versions.begin(), {"tilecast", version()});
  result.save(request.directory, request.force);
  std::error_code ignored;
  fs::remove(checkpoint, ignored);
  return {views::training_text(training, result, request.directory),
          views::training_json(training, result, request.directory)};
}

std::string training_plan(const TrainingRequest& request) {
  const training::TrainingFile file = training::read_training_file(request.experiment);
  training::ImportedData data(data_folder(request.data, request.experiment));
  require_data(data, file);
  return views::plan_text(Training(analytical_prior(), file, data, request.learner, request.jobs));
}

}  // namespace tilecast::sim
