// Splits samples into a fitted and a scored part. A group is never on both sides, except in the
// experiment "n measured rows of this kernel".
//
//   std::vector<std::string> group = group_keys(samples, GroupBy::kKernel);
//   for (const Split& split : k_fold(group, 5, seed)) fit(split.fit), score(split.score);
//
// Deterministic: the same keys and seed give the same splits on every platform; indices in `fit`
// and `score` are ascending. Throws Error if a request cannot be met (more folds than groups, a
// share outside (0, 1)). Thread-safe.
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

// The groups that stay together. kKernel: equal work, by fingerprint. kFamily: shape or program
// family.
enum class GroupBy { kKernel, kOpClass, kFamily };
[[nodiscard]] std::vector<std::string> group_keys(const SampleSet& samples, GroupBy by);

// `groups`: the key of each sample. Whole groups are assigned, in random order, to the fold with
// the fewest samples; every sample is scored once. 2 <= folds <= number of distinct groups.
[[nodiscard]] std::vector<Split> k_fold(std::span<const std::string> groups, std::size_t folds,
                                        std::uint64_t seed);
// One split per distinct group, in order of the keys; at least 2 groups.
[[nodiscard]] std::vector<Split> leave_one_out(std::span<const std::string> groups);
// Adds random groups to the scored part until it has at least `share` of the samples; both parts
// have at least one group.
[[nodiscard]] Split held_out(std::span<const std::string> groups, double share, std::uint64_t seed);

// Tests extrapolation: the largest `share` of each stratum (op class) is scored. `size` and
// `stratum` are per sample. Samples as large as the largest fitted one are fitted too, so that
// every scored sample is larger than all fitted ones. A stratum of a single size is fitted whole.
[[nodiscard]] Split largest_held_out(std::span<const double> size,
                                     std::span<const std::string> stratum, double share);
// FLOPs + bytes of each sample's work: the usual choice of `size`.
[[nodiscard]] std::vector<double> work_sizes(const SampleSet& samples);

// `count` random elements of `rows` are fitted, the rest is scored. For rows of one kernel.
[[nodiscard]] Split sampled_rows(std::span<const std::size_t> rows, std::size_t count,
                                 std::uint64_t seed);

}  // namespace tilecast::measured
