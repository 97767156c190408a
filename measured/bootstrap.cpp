// The percentile bootstrap of measured/metrics.h.
#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "base/error.h"
#include "base/statistics.h"
#include "measured/metrics.h"

namespace tilecast::measured {
namespace {

constexpr double kTail = 0.025;  // per side, for 95 %

// The indices of each group, groups in order of first appearance; without groups, one index each.
std::vector<std::vector<std::size_t>> groups(std::size_t n, std::span<const std::size_t> group_of) {
  std::vector<std::vector<std::size_t>> members;
  std::unordered_map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t group = group_of.empty() ? i : group_of[i];
    const auto [found, fresh] = place.try_emplace(group, members.size());
    if (fresh) members.emplace_back();
    members[found->second].push_back(i);
  }
  return members;
}

// A random number in 0 ... count - 1, the same on every platform (unlike
// std::uniform_int_distribution): the high half of a 32-bit draw times the count.
std::size_t draw(std::mt19937_64& random, std::size_t count) {
  constexpr int kBits = 32;
  return static_cast<std::size_t>(((random() >> kBits) * count) >> kBits);
}

}  // namespace

std::optional<Interval> bootstrap_interval(std::size_t n, const Statistic& statistic,
                                           std::span<const std::size_t> group_of,
                                           const BootstrapOptions& options) {
  TC_CHECK(group_of.empty() || group_of.size() == n, "every index has a group, or none");
  TC_CHECK(options.draws >= 1, "a bootstrap draws at least once");
  TC_CHECK(n <= UINT32_MAX, "a bootstrap of at most 2^32 - 1 rows");
  if (n == 0) return std::nullopt;
  const std::vector<std::vector<std::size_t>> members = groups(n, group_of);
  std::mt19937_64 random(options.seed);
  std::vector<double> values;
  std::vector<std::size_t> sample;
  for (int i = 0; i < options.draws; ++i) {
    sample.clear();
    for (std::size_t g = 0; g < members.size(); ++g) {
      const std::vector<std::size_t>& drawn = members[draw(random, members.size())];
      sample.insert(sample.end(), drawn.begin(), drawn.end());
    }
    const std::optional<double> value = statistic(sample);
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  if (2 * values.size() < static_cast<std::size_t>(options.draws)) return std::nullopt;
  return Interval{.low = base::quantile(values, kTail), .high = base::quantile(values, 1 - kTail)};
}

}  // namespace tilecast::measured
