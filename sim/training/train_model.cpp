#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "sim/calibration.h"
#include "sim/model_choice.h"
#include "sim/training.h"
#include "sim/version.h"
#include "sim/views/training.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using training::Training;
using training::TrainingResult;

void require_data(const training::ImportedData& data, const training::TrainingFile& file) {
  if (const auto missing = data.missing(file)) {
    throw Error(
        fmt::format("{}: {} not found; name the folder of third-party data with --data "
                    "or $TILECAST_SHARED",
                    file.file, *missing));
  }
}

// Removes the remains of an interrupted training unless it is resumed.
void prepare_folder(const TrainingRequest& request, const std::string& checkpoint) {
  check_model_folder(request.directory, request.force);
  std::error_code failure;
  if (!request.resume) {
    fs::remove(checkpoint, failure);
  } else if (!fs::exists(checkpoint, failure)) {
    throw Error(fmt::format("{}: not found; nothing to resume", checkpoint));
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
  return views::training_plan(
      Training(analytical_prior(), file, data, request.learner, request.jobs));
}

}  // namespace tilecast::sim
