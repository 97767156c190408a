// The terms of an analytical time, which a network corrects before they are combined
// (NetworkSpec::terms). With busy the seconds of Estimate::bounds:
//
//   time = (sum over resources of busy^p)^(1/p) + latency + fill_drain + overhead
//
// p: the exponent in [1, kMostPower] at which the sum is the model's time: 1 where the model adds
// its terms (cores with caches), large where the longest counts (analytical/pipeline.h). What the
// terms leave of the time counts as latency. Thread-safe.
#pragma once

#include <span>
#include <vector>

#include "analytical/estimate.h"
#include "learned/kernel_graph.h"

namespace tilecast::learned {

// Resources that overlap are the first in the order of Bound, the others add up.
inline constexpr std::size_t kOverlapping = 9;
inline constexpr double kMostPower = 16;
// busy / time by Bound, then 1 / p: all in [0, 1] where the terms make up the time.
inline constexpr std::size_t kTermColumns = analytical::kBoundCount + 1;
void terms_of(const analytical::Estimate& estimate, std::span<float> out);

// The share of each node in each term, nodes x kBoundCount; columns sum to 1. Reads are shared by
// the bytes of given arrays, writes by those of results, units by their work (op_work.h), on-chip
// and issue by all these arrays; terms without a node that causes them evenly.
[[nodiscard]] std::vector<float> term_shares(const ir::Kernel& kernel,
                                             const hwdesc::Device& device);

// Appends `extra` columns to each row of `rows`.
void append_columns(std::span<const float> extra, std::size_t columns, std::vector<float>& rows);

}  // namespace tilecast::learned
