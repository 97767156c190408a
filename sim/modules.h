// A module that adds verbs to the command, so that their dependencies are built and linked only
// with their component (CMakeLists.txt).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/plugin.h"
#include "learned/training/learner.h"

namespace CLI {
class App;
}

namespace tilecast::sim {

struct VerbModule {
  // Adds its verb; both sides must be compiled with the same CLI11.
  void (*add)(CLI::App& app);
};
inline constexpr std::uint64_t kVerbModuleAbi = base::plugin_abi(2, {sizeof(VerbModule)});

// `tilecast train` without its command line: trains a model of an experiment and writes its folder.
//
//   TrainedModel made = train_model({.experiment = "e.yaml", .directory = "models/mine"});
//   made.json
//
// Trains one learner, or fits one hybrid, on the fitted rows of the first round of the experiment's
// split, and scores it on the held-out rows.
struct TrainingRequest {
  std::string experiment;  // a file
  std::string learner;     // or hybrid; may be empty if there is only one
  std::string directory;   // of the model
  std::string data;        // folder of third-party data; "": see data_folder()
  bool force = false;      // replace an existing model
  bool resume = false;     // continue from DIRECTORY.checkpoint (networks)
  int jobs = 1;
};
struct TrainingHooks {
  std::function<void(const std::string& title)> begin = [](const std::string&) {};
  std::function<void(const learned::LearnerProgress&)> step = [](const learned::LearnerProgress&) {
  };  // of learners
  std::function<void(const std::string& what, double done)> hybrid_step =
      [](const std::string&, double) {};  // done: 0..1
};

// The result, written by sim/training/train_model.cpp.
struct TrainedModel {
  std::string text, json;
};

// The folder of third-party data: `given`, else $TILECAST_SHARED, else ../shared beside the
// repository of the experiment.
[[nodiscard]] std::string data_folder(const std::string& given, const std::string& experiment);

// Trains the model and writes the folder. Throws Error.
[[nodiscard]] TrainedModel train_model(const TrainingRequest& request,
                                       const TrainingHooks& hooks = {});
// Describes the training and its rows as text; the directory may be empty.
[[nodiscard]] std::string training_plan(const TrainingRequest& request);

}  // namespace tilecast::sim
