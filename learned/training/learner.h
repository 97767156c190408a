// One way to learn from measurements, described by data, and its training.
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
// parameters of text_parameters() where it reads text (encoding text, or the group tokens of
// trees), validation (share of the rows), validate_by, seed, search, pretrain
// (training/pretrain_spec.h), and every parameter of gbt_parameters(), or of network_parameters()
// and training_parameters().
#pragma once

#include "hwdesc/config_reader.h"
#include "learned/model_dir.h"
#include "learned/training/examples.h"
#include "learned/training/gbt_trainer.h"
#include "learned/training/pretrain_spec.h"

namespace tilecast::learned {

enum class LearnerKind { kXgboost, kNetwork };
inline constexpr std::string_view kLearnerKinds[] = {"xgboost", "network"};
[[nodiscard]] constexpr std::string_view name(LearnerKind kind) {
  return kLearnerKinds[static_cast<std::size_t>(kind)];
}

// A parameter and what a search draws it from: two numbers are the ends of a range (uniform in the
// logarithm when it spans a factor above 10), anything else is a list of values.
struct SearchRange {
  std::string parameter;
  std::vector<std::string> values;  // two numbers and `range`: the ends
  bool range = false;
};
// Random draws, then successive halving (Jamieson and Talwalkar, AISTATS 2016): every round keeps
// the better half and doubles the epochs (trees); the last round has them all.
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
  TextSpec text;                     // of learners of text
  GbtSpec gbt;
  NetworkSpec network;
  TrainingSpec training;
  Target target;
  PretrainSpec pretrain;
  double validation = 0.15;  // share of the rows
  ValidateBy validate_by = ValidateBy::kKernel;
  std::uint64_t seed = 1;  // of everything: validation split, search, training
  SearchSpec search;

  [[nodiscard]] bool ranks() const;       // by a part of its loss
  [[nodiscard]] bool ranks_only() const;  // by all of it: predictions are no times
  [[nodiscard]] bool needs_prior() const;
  [[nodiscard]] bool reads_text() const;  // encoding text, or the group tokens
};

// Throws Error with file, line and column; unknown keys name the nearest.
[[nodiscard]] LearnerSpec read_learner(const hwdesc::ConfigNode& node);
// Every setting by its key, as YAML: read_learner() of it gives an equal spec.
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
  LearnerSpec spec;  // the best of a search
  std::unique_ptr<Predictor> predictor;
  std::string training_csv;  // trial, round, step (epoch, batch or tree), loss, validation, seconds
  TrainValidation split;     // rows of the examples
  std::size_t train_rows = 0, validation_rows = 0;
  double seconds = 0;
  // What the learner knows: kind, settings, seed, trained domain, versions of libraries.
  ModelCard card;

  // Saves it under `about`, with what the learner knows put in its place. Throws Error.
  void save(ModelCard about, const std::string& directory, bool force) const;
};

// The examples must hold priors when the spec needs them. Deterministic. Throws Error when there
// are too few rows (fewer than 8). Several trainings may run at once.
[[nodiscard]] Trained train(const LearnerSpec& spec, const Examples& examples,
                            const LearnerHooks& hooks = {});

}  // namespace tilecast::learned
