#include "sim/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "hybrid/hybrid_dir.h"
#include "sim/calibration.h"
#include "sim/model_choice.h"
#include "sim/version.h"
#include "sim/views/experiment.h"
#include "sim/views/training.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;

// The hybrid that `learner` names, or the only thing there is to train; "": a learner.
std::string hybrid_asked_for(const std::string& learner, const validation::Experiment& experiment) {
  if (experiment.hybrids.empty()) return "";
  std::vector<std::string> names;
  for (const learned::LearnerSpec& spec : experiment.learners) names.push_back(spec.name);
  for (const hybrid::HybridSpec& spec : experiment.hybrids) names.push_back(spec.name);
  std::string wanted = learner;
  if (wanted.empty() && names.size() > 1) {
    throw Error(
        fmt::format("{}: {} learners and hybrids, expected one; choose it with --learner: {}",
                    experiment.file, names.size(), fmt::join(names, ", ")));
  }
  if (wanted.empty()) wanted = names.front();
  if (std::ranges::find(names, wanted) == names.end()) {
    throw Error(fmt::format("{}: no learner or hybrid is called '{}'; there are: {}",
                            experiment.file, wanted, fmt::join(names, ", ")));
  }
  return experiment.learner(wanted) == nullptr ? wanted : "";
}

// An experiment with its data, and the hybrid of it that is asked for; "": a learner.
struct ReadTraining {
  explicit ReadTraining(const TrainingRequest& request)
      : experiment(validation::read_experiment(request.experiment)),
        data(data_folder(request.data, request.experiment)) {
    if (const auto missing = data.missing(experiment)) {
      throw Error(
          fmt::format("{}: {} not found; name the folder of third-party data with --data "
                      "or $TILECAST_SHARED",
                      request.experiment, *missing));
    }
    hybrid = hybrid_asked_for(request.learner, experiment);
  }
  validation::Experiment experiment;
  validation::ExperimentData data;
  std::string hybrid;
};

// What an interrupted training left goes, unless it is resumed.
void prepare_folder(const TrainingRequest& request, const std::string& checkpoint) {
  check_model_folder(request.directory, request.force);
  std::error_code failure;
  if (!request.resume) {
    fs::remove(checkpoint, failure);
  } else if (!fs::exists(checkpoint, failure)) {
    throw Error(fmt::format("{}: not found; nothing to resume", checkpoint));
  }
}

std::string split_of(const validation::Experiment& experiment, std::size_t rounds) {
  std::string split = views::split_text(experiment.split);
  if (rounds > 1) split += fmt::format("; trained on the first of {}", rounds);
  return split;
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

TrainedModel train_learner(const TrainingRequest& request, const TrainingHooks& hooks,
                           ReadTraining& read) {
  const std::string checkpoint = request.directory + ".checkpoint";
  prepare_folder(request, checkpoint);
  const validation::Training training(analytical_prior(), read.experiment, read.data,
                                      request.learner, request.jobs);
  const learned::LearnerHooks steps = learner_hooks(request, hooks, training.learner(), checkpoint);
  hooks.begin("train " + training.learner().name);
  validation::TrainingResult result = training.run(steps);
  result.about.created = base::today();
  result.about.split = split_of(read.experiment, training.rounds());
  result.about.versions = {{"tilecast", version()}};
  result.trained.save(result.about, request.directory, request.force);
  std::error_code ignored;
  fs::remove(checkpoint, ignored);
  return {views::training_text(result, training.experiment(), request.directory),
          views::training_json(result, training.experiment(), request.directory)};
}

TrainedModel train_hybrid(const TrainingRequest& request, const TrainingHooks& hooks,
                          ReadTraining& read) {
  if (request.resume) throw Error("--resume: a hybrid is fitted as a whole");
  prepare_folder(request, request.directory + ".checkpoint");
  const validation::HybridTraining training(analytical_prior(), read.experiment, read.data,
                                            read.hybrid, request.jobs);
  hooks.begin("fit " + read.hybrid);
  validation::HybridTrainingResult result = training.run(hooks.hybrid_step);
  result.card.created = base::today();
  result.card.split = split_of(read.experiment, training.rounds());
  result.card.versions.insert(result.card.versions.begin(), {"tilecast", version()});
  hybrid::save_hybrid(result.card, result.model->parts(), request.directory, request.force);
  return {views::hybrid_text(result, training.experiment(), request.directory),
          views::hybrid_json(result, training.experiment(), request.directory)};
}

}  // namespace

std::string data_folder(const std::string& given, const std::string& experiment) {
  if (!given.empty()) return given;
  if (const char* shared = std::getenv("TILECAST_SHARED"); shared && *shared) return shared;
  const fs::path folder = fs::absolute(experiment).parent_path();
  return (folder / "../../../shared").lexically_normal().string();
}

TrainedModel train_model(const TrainingRequest& request, const TrainingHooks& hooks) {
  ReadTraining read(request);
  if (request.directory.empty()) throw UsageError("--out is required: the folder of the model");
  return read.hybrid.empty() ? train_learner(request, hooks, read)
                             : train_hybrid(request, hooks, read);
}

std::string training_plan(const TrainingRequest& request) {
  ReadTraining read(request);
  if (!read.hybrid.empty()) {
    return views::hybrid_plan(validation::HybridTraining(analytical_prior(), read.experiment,
                                                         read.data, read.hybrid, request.jobs));
  }
  return views::training_plan(validation::Training(analytical_prior(), read.experiment, read.data,
                                                   request.learner, request.jobs));
}

}  // namespace tilecast::sim
