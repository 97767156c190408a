// Accumulates times of one instruction or module: total, minimum, spread and median, in bounded
// memory. The median is exact for up to kExact times, then within 0.1 %.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "measured/importers/xplane.h"

namespace tilecast::measured {

class TimeSamples {
 public:
  static constexpr std::size_t kExact = 512;

  // Adds `count` (at least 1) occurrences that took `picoseconds` (>= 0) in total.
  void add(double picoseconds, std::int64_t count = 1);
  // Sets occurrences, total, median, min and spread of `times`.
  void write_to(XplaneTimes& times) const;
  [[nodiscard]] Seconds total() const;
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  [[nodiscard]] double median() const;
  void put_in_bucket(double picoseconds, std::int64_t count);

  std::int64_t count_ = 0;
  double total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;        // Welford: running mean, sum of squares around it
  std::vector<double> exact_;            // up to kExact times
  std::map<int, std::int64_t> buckets_;  // after that, by logarithm of the time
};

}  // namespace tilecast::measured
