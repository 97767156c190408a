// Measurements that are physics times a known factor, and hybrids of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_fit.h"
#include "tests/hybrid/synthetic_set.h"

namespace tilecast::hybrid {

inline const analytical::AnalyticalModel kPhysics;

inline const hwdesc::Device& tpu_v3() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

inline analytical::KernelQuery query_of(const measured::SampleSet& set, std::size_t sample) {
  const analytical::TileConfig& tile = set.samples[sample].tile;
  return {.kernel = set.works[set.samples[sample].work].parts.front().kernel,
          .tile = tile == analytical::TileConfig{} ? nullptr : &tile};
}

inline analytical::Estimate ask(const analytical::CostModel& model,
                                const analytical::KernelQuery& query,
                                const hwdesc::Device& device) {
  return model.estimate({&query, 1}, device).front().value();
}

// log(measured / analytical) of an estimate.
using Residual = std::function<double(const analytical::Estimate&)>;

// Kernels take 30 % longer than predicted by physics per factor of e in size.
inline double by_size(const analytical::Estimate& estimate) {
  return 0.3 * std::log(estimate.time.value / 10e-6);
}

inline measured::SampleSet corrected_set(const hwdesc::Device& device, int kernels, int tiles,
                                         const Residual& residual, double noise = 0) {
  measured::SampleSet set = synthetic_set(device, kernels, tiles, noise);
  for (std::size_t i = 0; i < set.samples.size(); ++i) {
    const double error = residual(ask(kPhysics, query_of(set, i), device));
    set.samples[i].measured = set.samples[i].measured * std::exp(error);
  }
  return set;
}

inline HybridSpec small_hybrid() {
  return {.name = "hybrid"};
}

inline FittedHybrid fit_to(const measured::SampleSet& set, const hwdesc::Device& device,
                           const HybridSpec& spec = small_hybrid(), int jobs = 1) {
  return fit_hybrid(kPhysics, spec, std::span(&set, 1), std::span(&device, 1), {.jobs = jobs});
}

}  // namespace tilecast::hybrid
