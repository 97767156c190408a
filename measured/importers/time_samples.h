// Times of one thing, added one by one: total, minimum, spread and median, whatever their number
// and order. The median is exact up to kExact of them, then within 0.1 %.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "measured/importers/xplane.h"

namespace tilecast::measured {

class TimeSamples {
 public:
  static constexpr std::size_t kExact = 512;

  // `count` (at least 1) times that together took `picoseconds` (not negative).
  void add(double picoseconds, std::int64_t count = 1);
  // Occurrences, total, median, min and spread of `times`.
  void write_to(XplaneTimes& times) const;
  [[nodiscard]] Seconds total() const;
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  [[nodiscard]] double median() const;
  void put_in_bucket(double picoseconds, std::int64_t count);

  std::int64_t count_ = 0;
  double total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;        // Welford: running mean, sum of squares around it
  std::vector<double> exact_;            // until there are too many
  std::map<int, std::int64_t> buckets_;  // then by logarithm
};

}  // namespace tilecast::measured
