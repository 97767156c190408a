#include "measured/splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace tilecast::measured {
namespace {

using Groups = std::map<std::string, std::vector<std::size_t>>;

Groups members(std::span<const std::string> keys) {
  Groups groups;
  for (std::size_t i = 0; i < keys.size(); ++i) groups[keys[i]].push_back(i);
  return groups;
}

std::vector<const std::vector<std::size_t>*> shuffled(const Groups& groups, std::uint64_t seed) {
  std::vector<const std::vector<std::size_t>*> order;
  for (const auto& [key, indices] : groups) order.push_back(&indices);
  std::mt19937_64 engine(seed);
  base::shuffle(order, engine);
  return order;
}

// `scored`: per sample.
Split split_of(const std::vector<bool>& scored) {
  Split split;
  for (std::size_t i = 0; i < scored.size(); ++i)
    (scored[i] ? split.score : split.fit).push_back(i);
  return split;
}

void require_share(double share) {
  if (share > 0 && share < 1) return;
  throw Error(fmt::format("split: got a share of {}, expected more than 0 and less than 1", share));
}

void require_groups(std::size_t got, std::size_t expected) {
  if (got >= expected) return;
  throw Error(fmt::format("split: got {} group{}, expected at least {}", got, got == 1 ? "" : "s",
                          expected));
}

}  // namespace

std::vector<std::string> group_keys(const SampleSet& samples, GroupBy by) {
  std::vector<std::string> keys;
  for (const Sample& sample : samples.samples) {
    const Workload& work = samples.works[sample.work];
    keys.push_back(by == GroupBy::kKernel    ? work.fingerprint
                   : by == GroupBy::kOpClass ? work.op_class
                                             : work.family);
  }
  return keys;
}

std::vector<Split> k_fold(std::span<const std::string> groups, std::size_t folds,
                          std::uint64_t seed) {
  if (folds < 2) throw Error(fmt::format("split: got {} folds, expected at least 2", folds));
  const Groups by_key = members(groups);
  require_groups(by_key.size(), folds);
  std::vector<std::size_t> fold_of(groups.size()), filled(folds);
  for (const std::vector<std::size_t>* group : shuffled(by_key, seed)) {
    const auto emptiest = std::ranges::min_element(filled) - filled.begin();
    const auto fold = static_cast<std::size_t>(emptiest);
    for (const std::size_t i : *group) fold_of[i] = fold;
    filled[fold] += group->size();
  }
  std::vector<Split> splits;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<bool> scored(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) scored[i] = fold_of[i] == fold;
    splits.push_back(split_of(scored));
  }
  return splits;
}

std::vector<Split> leave_one_out(std::span<const std::string> groups) {
  const Groups by_key = members(groups);
  require_groups(by_key.size(), 2);
  std::vector<Split> splits;
  for (const auto& [key, indices] : by_key) {
    std::vector<bool> scored(groups.size());
    for (const std::size_t i : indices) scored[i] = true;
    splits.push_back(split_of(scored));
  }
  return splits;
}

Split held_out(std::span<const std::string> groups, double share, std::uint64_t seed) {
  require_share(share);
  const Groups by_key = members(groups);
  require_groups(by_key.size(), 2);
  std::vector<bool> scored(groups.size());
  std::size_t count = 0, taken = 0;
  for (const std::vector<std::size_t>* group : shuffled(by_key, seed)) {
    if (taken + 1 == by_key.size()) break;
    if (static_cast<double>(count) >= share * static_cast<double>(groups.size())) break;
    for (const std::size_t i : *group) scored[i] = true;
    count += group->size();
    ++taken;
  }
  return split_of(scored);
}

Split largest_held_out(std::span<const double> size, std::span<const std::string> stratum,
                       double share) {
  require_share(share);
  TC_CHECK(size.size() == stratum.size(), "one stratum per size");
  std::vector<bool> scored(size.size());
  for (const auto& [key, indices] : members(stratum)) {
    std::vector<std::size_t> ascending = indices;
    std::ranges::stable_sort(ascending, {}, [&](std::size_t i) { return size[i]; });
    const double count = static_cast<double>(ascending.size());
    auto kept = static_cast<std::size_t>(std::ceil((1 - share) * count));
    kept = std::clamp<std::size_t>(kept, 1, ascending.size());
    const double limit = size[ascending[kept - 1]];  // the largest fitted size
    for (const std::size_t i : ascending) scored[i] = size[i] > limit;
  }
  return split_of(scored);
}

std::vector<double> work_sizes(const SampleSet& samples) {
  std::vector<double> by_work;
  for (const Workload& work : samples.works) {
    double size = 0;
    for (const WorkloadPart& part : work.parts) {
      const ir::WorkCounts& counts = part.kernel.work();
      size += part.launches * (std::max(0.0, static_cast<double>(counts.flops)) +
                               std::max(0.0, static_cast<double>(counts.bytes_accessed)));
    }
    by_work.push_back(size);
  }
  std::vector<double> sizes;
  for (const Sample& sample : samples.samples) sizes.push_back(by_work[sample.work]);
  return sizes;
}

Split sampled_rows(std::span<const std::size_t> rows, std::size_t count, std::uint64_t seed) {
  if (count == 0 || count >= rows.size()) {
    throw Error(
        fmt::format("split: got {} rows to fit of {}, expected at least 1 and fewer than "
                    "all",
                    count, rows.size()));
  }
  std::vector<std::size_t> order(rows.begin(), rows.end());
  std::mt19937_64 engine(seed);
  base::shuffle(order, engine);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  Split split{{order.begin(), middle}, {middle, order.end()}};
  std::ranges::sort(split.fit);
  std::ranges::sort(split.score);
  return split;
}

}  // namespace tilecast::measured
