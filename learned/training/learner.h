// Describes a learner as data, and trains it on measurements.
//
//   learners:                                             in an experiment or a training file
//     - {name: trees, model: xgboost, features: [static, ops, shape, tile], depth: 8}
//     - name: sage
//       model: network
//       at_nodes: [static, tile]
//       graph: sage
//       reduction: lstm
//       loss: rank_hinge
//       search: {trials: 8, rounds: 2, learning_rate: [1e-4, 1e-2], hidden: [32, 64, 128]}
//
// Keys: name, model (xgboost | network), target (time | residual | a quantity of the sets, with
// target_scale: identity | log1p), features | (at_nodes, at_kernel, encoding, scale), the
// parameters of text_parameters() for learners of text (encoding text, or the group tokens of
// trees), validation (share of the rows), validate_by, seed, search, and all parameters of
// gbt_parameters(), or of network_parameters() and training_parameters().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hwdesc/config_reader.h"
#include "learned/model_dir.h"
#include "learned/training/examples.h"
#include "learned/training/gbt_trainer.h"

namespace tilecast::learned {

enum class LearnerKind { kXgboost, kNetwork };
inline constexpr std::string_view kLearnerKinds[] = {"xgboost", "network"};
[[nodiscard]] constexpr std::string_view name(LearnerKind kind) {
  return kLearnerKinds[static_cast<std::size_t>(kind)];
}

// A searched parameter and its values: two numbers are the ends of a range (uniform in the
// logarithm if their ratio is above 10), anything else is a list of values.
struct SearchRange {
  std::string parameter;
  std::vector<std::string> values;  // the two ends if `range`
  bool range = false;
};
// Random draws, then successive halving (Jamieson and Talwalkar, AISTATS 2016): every round keeps
// the better half and doubles the epochs (trees), up to the full number in the last round.
struct SearchSpec {
  int trials = 0;  // 0: no search
  int rounds = 2;
  std::vector<SearchRange> ranges;
};

struct LearnerSpec {
  std::string name;
  LearnerKind kind = LearnerKind::kXgboost;
  FeatureSelection features;         // kXgboost
  NetworkFeatures network_features;  // kNetwork
  TextSpec text;                     // of learners that read text
  GbtSpec gbt;
  NetworkSpec network;
  TrainingSpec training;
  Target target;
  double validation = 0.15;  // share of the rows
  ValidateBy validate_by = ValidateBy::kKernel;
  std::uint64_t seed = 1;  // for validation split, search and training
  SearchSpec search;

  [[nodiscard]] bool ranks() const;       // with a part of its loss
  [[nodiscard]] bool ranks_only() const;  // with all of it: predictions are not times
  [[nodiscard]] bool needs_prior() const;
  [[nodiscard]] bool reads_text() const;  // encoding text, or the group tokens
};

// Throws Error with file, line and column; for an unknown key it names the closest one.
[[nodiscard]] LearnerSpec read_learner(const hwdesc::ConfigNode& node);
// All settings by key, as YAML; read_learner() of them gives an equal spec.
[[nodiscard]] std::map<std::string, std::string> settings_of(const LearnerSpec& spec);

struct LearnerProgress {
  std::string what;  // "epoch 12 of 60", "trial 3 of 8, round 1 of 2"
  double done = 0;   // 0 ... 1
  double loss = 0, validation = 0;
};
struct LearnerHooks {
  std::function<void(const LearnerProgress&)> step = {};
  int threads = 1;
  std::string checkpoint = {};  // networks, without a search
};

// A trained model before it is saved.
struct Trained {
  LearnerSpec spec;  // with a search: the best one
  std::unique_ptr<Predictor> predictor;
  std::string training_csv;  // trial, round, step (epoch, batch or tree), loss, validation, seconds
  TrainValidation split;     // rows of the examples
  std::size_t train_rows = 0, validation_rows = 0;
  double seconds = 0;
  // Filled in by the learner: kind, settings, seed, trained domain, versions of libraries.
  ModelCard card;

  // Saves the model with card `about`, completed by the learner's part. Throws Error.
  void save(ModelCard about, const std::string& directory, bool force) const;
};

// The examples must have priors if the spec needs them. Deterministic. Throws Error if there are
// fewer than 8 rows. Several trainings may run concurrently.
[[nodiscard]] Trained train(const LearnerSpec& spec, const Examples& examples,
                            const LearnerHooks& hooks = {});

}  // namespace tilecast::learned
