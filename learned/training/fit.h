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

}  // namespace tilecast::learned
