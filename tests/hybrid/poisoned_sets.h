// Clean measurements of products, and ways to corrupt measurements.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "measured/op_kernels.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {

// Products with their analytical times multiplied by `factor` and exp(noise), noise uniform within
// +-`spread`.
struct Products {
  std::string dtype = "f32", op_class = "matmul";
  int count = 60;
  std::uint64_t seed = 1;
  double factor = 1, spread = 0.08;
};
inline measured::SampleSet products_on(const hwdesc::Device& device, const Products& products) {
  measured::SampleSet set{.name = products.op_class + " " + device.name,
                          .hash = "0123456789abcdef",
                          .device = device.name,
                          .measured_on = device.name};
  std::mt19937_64 random(products.seed);
  const auto size = [&] { return std::int64_t{64} << (random() % 7); };
  for (int i = 0; i < products.count; ++i) {
    const std::string row =
        fmt::format("matmul,{},{},{},{}", products.dtype, size() + 8 * i, size(), size());
    const auto table =
        measured::read_csv(base::SourceText("products.csv", "op,dtype,m,n,k\n" + row + "\n"));
    ir::Kernel kernel =
        measured::operator_kernel(table, table.rows.front(), measured::op_defaults(device));
    set.works.push_back({.name = row,
                         .op_class = products.op_class,
                         .family = row,
                         .fingerprint = products.op_class + row,
                         .parts = {{std::move(kernel)}}});
    set.samples.push_back(
        {.work = static_cast<std::size_t>(i), .line = i + 2, .measured = Seconds{1}});
  }
  const auto answers = measured::predict(set, kPhysics, device);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double noise = 2 * static_cast<double>(random() >> 11) / 9007199254740992.0 - 1;
    set.samples[i].measured =
        answers[i].on_device * products.factor * std::exp(products.spread * noise);
  }
  return set;
}

using Lines = std::set<std::pair<std::string, int>>;  // set and line

// Multiplies the times of the rows selected by `is`; returns these rows.
inline Lines slow_down(
    measured::SampleSet& set, const hwdesc::Device& device, double factor,
    const std::function<bool(const analytical::Estimate&)>& is = [](const auto&) { return true; }) {
  Lines lines;
  const auto answers = measured::predict(set, kPhysics, device);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!is(*answers[i].estimate)) continue;
    set.samples[i].measured = set.samples[i].measured * factor;
    lines.emplace(set.name, set.samples[i].line);
  }
  return lines;
}

inline bool is_bound_by_units(const analytical::Estimate& estimate) {
  return estimate.bound == analytical::Bound::kMatrix ||
         estimate.bound == analytical::Bound::kVector;
}

inline Lines lines_apart(const std::vector<SetApart>& apart) {
  Lines lines;
  for (const SetApart& one : apart) lines.insert(one.rows.begin(), one.rows.end());
  return lines;
}

// Mean absolute error of the whole times, as a fraction.
inline double mape(const measured::SampleSet& set, const analytical::CostModel& model,
                   const hwdesc::Device& device) {
  const auto answers = measured::predict(set, model, device);
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    sum += std::abs(answers[i].comparable() / set.samples[i].measured - 1);
  }
  return sum / static_cast<double>(answers.size());
}

// Expects that the hybrid of poisoned sets is at most 2 points worse than physics on clean rows.
inline FittedHybrid expect_no_harm(const std::vector<measured::SampleSet>& poisoned,
                                   const std::vector<hwdesc::Device>& devices,
                                   const std::vector<measured::SampleSet>& clean,
                                   const std::vector<hwdesc::Device>& clean_devices) {
  FittedHybrid fitted = fit_hybrid(kPhysics, small_hybrid(), poisoned, devices, {.jobs = 2});
  HybridParts parts = std::move(fitted.parts);
  fitted.parts = {};
  const HybridModel model(kPhysics, std::move(parts));
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const hwdesc::Device& device = clean_devices[i];
    EXPECT_LT(mape(clean[i], model, device), mape(clean[i], kPhysics, device) + 0.02)
        << clean[i].name;
  }
  return fitted;
}

}  // namespace tilecast::hybrid
