// `tilecast train` without its command line: an experiment -> a trained model's folder.
//
//   TrainedModel made = train_model({.experiment = "e.yaml", .directory = "models/mine"});
//   views::trained_json(made)      // sim/views/training.h
//
// Trains one learner, or fits one hybrid, on the rows that the first round of the experiment's
// split fits, and scores it on the held-out ones. Trainings on graphs: learned/training/.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "validation/experiment_train.h"
#include "validation/train_hybrid.h"

namespace tilecast::sim {

struct TrainingRequest {
  std::string experiment;  // a file
  std::string learner;     // or hybrid; may be empty where there is one
  std::string directory;   // of the model
  std::string data;        // folder of third-party data; "": as data_folder()
  bool force = false;      // replace a model that is there
  bool resume = false;     // go on with DIRECTORY.checkpoint (networks)
  int jobs = 1;
};
struct TrainingHooks {
  std::function<void(const std::string& title)> begin = [](const std::string&) {};
  std::function<void(const learned::LearnerProgress&)> step = [](const learned::LearnerProgress&) {
  };  // of learners
  std::function<void(const std::string& what, double done)> hybrid_step =
      [](const std::string&, double) {};  // done: 0..1
};

struct TrainedModel {
  std::string directory;
  validation::Experiment experiment;  // of the model alone
  std::variant<validation::TrainingResult, validation::HybridTrainingResult> result;
};

// The folder of third-party data: `given`, else $TILECAST_SHARED, else ../shared beside the
// repository that the experiment is in.
[[nodiscard]] std::string data_folder(const std::string& given, const std::string& experiment);

// Trains it and writes the folder. Throws Error.
[[nodiscard]] TrainedModel train_model(const TrainingRequest& request,
                                       const TrainingHooks& hooks = {});
// What would be trained, on which rows, as text; the directory may be empty.
[[nodiscard]] std::string training_plan(const TrainingRequest& request);

}  // namespace tilecast::sim
