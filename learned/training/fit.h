// Examples made ready for one kind of model, to be fitted as often as a search asks. Internal to
// training; learned/training/learner.h is what others call.
//
//   std::unique_ptr<Fitter> fitter = make_fitter(spec, examples, split, threads);
//   FitResult result = fitter->fit(spec, {.step = ..., .threads = threads});
//
// Scales and standardisation are those of the training rows alone.
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
  double validation = 0;  // the least; infinite when there was none
};

class Fitter {
 public:
  virtual ~Fitter() = default;
  // `spec`: that of the fitter, with other parameters of the model and of its training.
  [[nodiscard]] virtual FitResult fit(const LearnerSpec& spec, const FitHooks& hooks) const = 0;
};
// Copies what it needs. `examples` need not outlive it. `labelled`: the rows that it learns first,
// in half of the trees or epochs or in PretrainSpec::steps; they set the scales of features, and of
// times, with the others.
[[nodiscard]] std::unique_ptr<Fitter> make_fitter(const LearnerSpec& spec, const Examples& examples,
                                                  const TrainValidation& split, int threads,
                                                  std::span<const std::size_t> labelled = {});
[[nodiscard]] std::unique_ptr<Fitter> make_tree_fitter(const LearnerSpec& spec,
                                                       const Examples& examples,
                                                       const TrainValidation& split, int threads,
                                                       std::span<const std::size_t> labelled = {});
[[nodiscard]] std::unique_ptr<Fitter> make_network_fitter(
    const LearnerSpec& spec, const Examples& examples, const TrainValidation& split, int threads,
    std::span<const std::size_t> labelled = {});

// Of a learner that is to learn spec.pretrain labels of physics first. Throws Error where it
// cannot.
[[nodiscard]] std::unique_ptr<Fitter> make_pretrained_fitter(const LearnerSpec& spec,
                                                             const Examples& examples,
                                                             const TrainValidation& split,
                                                             int threads);

// What the texts of these rows are made of, where the learner reads any; else empty.
[[nodiscard]] Vocabulary vocabulary_of(const LearnerSpec& spec, const Examples& examples,
                                       std::span<const std::size_t> rows);

// Features of these rows, in this order, row-major; those of one kernel should stand together.
[[nodiscard]] std::vector<float> feature_rows(const TableFeatures& features,
                                              const Examples& examples,
                                              std::span<const std::size_t> rows, int threads);
// Of log(seconds) of these rows by their weights; a deviation of 0 becomes 1.
[[nodiscard]] Standardisation standardisation_of(const Examples& examples,
                                                 std::span<const std::size_t> rows);
[[nodiscard]] std::vector<float> standard_targets(const Examples& examples,
                                                  std::span<const std::size_t> rows,
                                                  const Standardisation& target);
// Of these rows; empty when all are 1.
[[nodiscard]] std::vector<float> row_weights(const Examples& examples,
                                             std::span<const std::size_t> rows);
// One after the other.
[[nodiscard]] std::vector<std::size_t> joined(std::span<const std::size_t> first,
                                              std::span<const std::size_t> second);
// Ascending by kernel, else as they are.
[[nodiscard]] std::vector<std::size_t> by_kernel(const Examples& examples,
                                                 std::span<const std::size_t> rows);

}  // namespace tilecast::learned
