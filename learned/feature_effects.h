// What a prediction rests on: how far it moves without one feature of the kernel.
//
//   for (const FeatureEffect& each : feature_effects(predictor, query, device, priors, 6)) ...
//
// Trees and Gaussian processes: the feature is taken for missing. Networks: it takes the middle of
// its training range, at the nodes and at the kernel together; features of the nodes themselves are
// the graph and stay. Of a stack: the members' effects by their weights. Effects are of one feature
// at a time and do not add up.
#pragma once

#include <string>
#include <vector>

#include "learned/predictor.h"

namespace tilecast::learned {

struct FeatureEffect {
  std::string feature;
  double value = 0;
  double effect = 0;  // on the log of the time, or on the score of a ranking
};

// Largest first, at most `most`; features without effect or without a value are left out. `priors`:
// one, or none where the predictor needs none. Thread-safe.
[[nodiscard]] std::vector<FeatureEffect> feature_effects(const Predictor& predictor,
                                                         const analytical::KernelQuery& query,
                                                         const hwdesc::Device& device,
                                                         Priors priors, std::size_t most);

}  // namespace tilecast::learned
