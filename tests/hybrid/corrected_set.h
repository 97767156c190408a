// Measurements that are physics times a known factor, so that a correction can be asked for it.
#pragma once

#include <cmath>
#include <functional>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_fit.h"
#include "tests/hybrid/synthetic_set.h"

namespace tilecast::hybrid {

inline const analytical::AnalyticalModel kPhysics;

// log(measured / analytical) of an estimate.
using Residual = std::function<double(const analytical::Estimate&)>;

inline measured::SampleSet corrected_set(const hwdesc::Device& device, int kernels, int tiles,
                                         const Residual& residual, double noise = 0) {
  measured::SampleSet set = synthetic_set(device, kernels, tiles, noise);
  for (measured::Sample& sample : set.samples) {
    const analytical::KernelQuery query{.kernel = set.works[sample.work].parts.front().kernel,
                                        .tile = &sample.tile};
    const auto answers =
        kPhysics.estimate(std::span<const analytical::KernelQuery>(&query, 1), device);
    sample.measured = sample.measured * std::exp(residual(*answers.front()));
  }
  return set;
}

inline HybridSpec small_hybrid(bool calibrate = false) {
  learned::LearnerSpec process, trees;
  process.name = "process";
  process.kind = learned::LearnerKind::kGaussianProcess;
  trees.name = "trees";
  trees.gbt.trees = 60;
  trees.gbt.learning_rate = 0.15;
  for (learned::LearnerSpec* learner : {&process, &trees}) {
    learner->target.residual = true;
    learner->features.groups = {learned::FeatureGroup::kStatic, learned::FeatureGroup::kPrior};
  }
  HybridSpec spec;
  spec.name = "hybrid";
  spec.calibrate = calibrate;
  spec.candidates = {process, trees};
  return spec;
}

inline FittedHybrid fit_to(const measured::SampleSet& set, const hwdesc::Device& device,
                           const HybridSpec& spec = small_hybrid(), int jobs = 1) {
  return fit_hybrid(kPhysics, spec, std::span(&set, 1), std::span(&device, 1), {.jobs = jobs});
}

}  // namespace tilecast::hybrid
