// Examples prepared for one kind of model, so that a search can fit it repeatedly. Internal to
// training; other code calls learned/training/learner.h.
//
//   std::unique_ptr<Fitter> fitter = make_fitter(spec, examples, split, threads);
//   FitResult result = fitter->fit(spec, {.step = ..., .threads = threads});
//
// Scales and standardisation come from the training rows only.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learned/training/learner.h"

namespace tilecast::learned {

struct FitStep {
  int step = 0;  // epoch, batch (networks that train by steps) or tree, from 1
  double loss = 0, validation = 0;
};
struct FitHooks {
  std::function<void(const FitStep&)> step = {};
  int threads = 1;
  std::string checkpoint = {};
};
struct FitResult {
  std::unique_ptr<Predictor> predictor;
  double validation = 0;  // the minimum; infinite without validation
};

class Fitter {
 public:
  virtual ~Fitter() = default;
  // `spec`: as for the fitter, but parameters of the model and its training may differ.
  [[nodiscard]] virtual FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const = 0;
};
// Copies its inputs; `examples` need not outlive it.
[[nodiscard]] std::unique_ptr<Fitter> make_fitter(const LearnerSpec& spec, const Examples& examples,
                                                  const TrainValidation& split, int threads);
// `labelled`: the rows that it learns first, in half of the trees or in PretrainSpec::trees; they
// set the scale of times with the others.
[[nodiscard]] std::unique_ptr<Fitter> make_tree_fitter(const LearnerSpec& spec,
                                                       const Examples& examples,
                                                       const TrainValidation& split, int threads,
                                                       std::span<const std::size_t> labelled = {});
[[nodiscard]] std::unique_ptr<Fitter> make_network_fitter(const LearnerSpec& spec,
                                                          const Examples& examples,
                                                          const TrainValidation& split,
                                                          int threads);

// For a learner that first learns spec.pretrain analytical labels. Throws Error if it cannot.
[[nodiscard]] std::unique_ptr<Fitter> make_pretrained_fitter(const LearnerSpec& spec,
                                                             const Examples& examples,
                                                             const TrainValidation& split,
                                                             int threads);

// The vocabulary of these rows' texts; empty if the learner reads no text.
[[nodiscard]] Vocabulary vocabulary_of(const LearnerSpec& spec, const Examples& examples,
                                       std::span<const std::size_t> rows);

// Features of these rows, in order, row-major; rows of one kernel should be adjacent.
[[nodiscard]] std::vector<float> feature_rows(const TableFeatures& features,
                                              const Examples& examples,
                                              std::span<const std::size_t> rows, int threads);
// Weighted mean and deviation of log(seconds) of these rows; a deviation of 0 becomes 1.
[[nodiscard]] Standardisation standardisation_of(const Examples& examples,
                                                 std::span<const std::size_t> rows);
[[nodiscard]] std::vector<float> standard_targets(const Examples& examples,
                                                  std::span<const std::size_t> rows,
                                                  const Standardisation& target);
// Weights of these rows; empty if all are 1.
[[nodiscard]] std::vector<float> row_weights(const Examples& examples,
                                             std::span<const std::size_t> rows);
// The concatenation of both.
[[nodiscard]] std::vector<std::size_t> joined(std::span<const std::size_t> first,
                                              std::span<const std::size_t> second);
// Stably sorted by kernel.
[[nodiscard]] std::vector<std::size_t> by_kernel(const Examples& examples,
                                                 std::span<const std::size_t> rows);

}  // namespace tilecast::learned
