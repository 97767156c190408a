// Which samples are fitted and which are scored: never two samples of one group
// on both sides, unless the experiment is "n measured rows of this kernel".
//
//   std::vector<std::string> group = group_keys(samples, GroupBy::kKernel);
//   for (const Split& split : k_fold(group, 5, seed)) fit(split.fit), score(split.score);
//
// Deterministic: the same keys and seed give the same splits on every platform; the order of the
// samples within `fit` and `score` is ascending. Every Error is the caller's request that cannot be
// met (more folds than groups, a share outside (0, 1)). Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measured/samples.h"

namespace tilecast::measured {

struct Split {
  std::vector<std::size_t> fit, score;  // indices of samples, ascending; disjoint
};

// What stays together. kKernel: equal work, by fingerprint. kFamily: shape or program family.
enum class GroupBy { kKernel, kOpClass, kFamily };
[[nodiscard]] std::vector<std::string> group_keys(const SampleSet& samples, GroupBy by);

// `groups`: the key of each sample. Whole groups are dealt, in random order, to the fold with the
// fewest samples; every sample is scored once. 2 <= folds <= number of distinct groups.
[[nodiscard]] std::vector<Split> k_fold(std::span<const std::string> groups, std::size_t folds,
                                        std::uint64_t seed);
// One split per distinct group, in order of the keys; at least 2 groups.
[[nodiscard]] std::vector<Split> leave_one_out(std::span<const std::string> groups);
// Random groups until at least `share` of the samples is scored; both sides hold a group at least.
[[nodiscard]] Split held_out(std::span<const std::string> groups, double share, std::uint64_t seed);

// The largest `share` of each stratum (op class) is scored: extrapolation. `size` and `stratum` by
// sample; samples of equal size stay together, on the side of the fit, so that nothing scored is as
// small as anything fitted. A stratum of one size is fitted whole.
[[nodiscard]] Split largest_held_out(std::span<const double> size,
                                     std::span<const std::string> stratum, double share);
// FLOPs + bytes of each sample's work: what `size` usually is.
[[nodiscard]] std::vector<double> work_sizes(const SampleSet& samples);

// `count` random rows of `rows` are fitted, the rest is scored: rows of ONE kernel.
[[nodiscard]] Split sampled_rows(std::span<const std::size_t> rows, std::size_t count,
                                 std::uint64_t seed);

}  // namespace tilecast::measured
