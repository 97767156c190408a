#include "measured/importers/time_samples.h"

#include <algorithm>
#include <cmath>

namespace tilecast::measured {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;
const double kBucketWidth = std::log1p(0.002);  // times in a bucket differ by at most 0.2 %

}  // namespace

void TimeSamples::put_in_bucket(double picoseconds, std::int64_t count) {
  buckets_[picoseconds > 0 ? static_cast<int>(std::floor(std::log(picoseconds) / kBucketWidth))
                           : std::numeric_limits<int>::min()] += count;
}

void TimeSamples::add(double picoseconds, std::int64_t count) {
  const double each = picoseconds / static_cast<double>(count);
  min_ = count_ == 0 ? each : std::min(min_, each);
  max_ = std::max(max_, each);
  total_ += picoseconds;
  const double weight = static_cast<double>(count), all = static_cast<double>(count_) + weight;
  const double apart = each - mean_;
  mean_ += apart * weight / all;
  squares_ += apart * apart * weight * static_cast<double>(count_) / all;
  count_ += count;
  if (buckets_.empty() && count_ <= static_cast<std::int64_t>(kExact)) {
    exact_.insert(exact_.end(), static_cast<std::size_t>(count), each);
    return;
  }
  for (const double time : exact_) put_in_bucket(time, 1);
  exact_ = {};
  put_in_bucket(each, count);
}

double TimeSamples::median() const {
  if (buckets_.empty()) {
    std::vector<double> sorted = exact_;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
  std::int64_t before = 0;
  for (const auto& [bucket, count] : buckets_) {
    before += count;
    if (2 * before >= count_) {
      return std::clamp(std::exp((bucket + 0.5) * kBucketWidth), min_, max_);
    }
  }
  return max_;
}

void TimeSamples::write_to(XplaneTimes& times) const {
  times.occurrences = count_;
  times.total = total();
  if (count_ == 0) return;
  times.median = Seconds{median() * kSecondsPerPicosecond};
  times.min = Seconds{min_ * kSecondsPerPicosecond};
  times.spread = Seconds{std::sqrt(squares_ / static_cast<double>(count_)) * kSecondsPerPicosecond};
}

Seconds TimeSamples::total() const {
  return Seconds{total_ * kSecondsPerPicosecond};
}

}  // namespace tilecast::measured
