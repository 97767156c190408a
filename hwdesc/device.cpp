#include "hwdesc/device.h"

namespace tilecast::hwdesc {
namespace {

// The entry that stands for variants of a type: f8e4m3fn -> f8, u8 -> s8.
std::string_view stand_in(std::string_view dtype) {
  if (dtype.starts_with("f8")) return "f8";
  if (dtype == "u8") return "s8";
  if (dtype == "u4") return "s4";
  return dtype;
}

}  // namespace

FlopsPerSecond Device::matrix_peak(std::string_view dtype) const {
  auto passes = matrix.passes.find(std::string(dtype));
  if (passes == matrix.passes.end()) passes = matrix.passes.find(std::string(stand_in(dtype)));
  if (passes == matrix.passes.end() || matrix.count == 0) return FlopsPerSecond{0};
  const double macs_per_cycle = static_cast<double>(multiplexing.workers) * matrix.count *
                                static_cast<double>(matrix.rows) *
                                static_cast<double>(matrix.columns) * matrix.rows_per_cycle;
  return FlopsPerSecond{2 * macs_per_cycle * matrix.clock.value_or(clock).value / passes->second};
}

FlopsPerSecond Device::vector_peak() const {
  return FlopsPerSecond{static_cast<double>(multiplexing.workers) *
                        static_cast<double>(vector.lanes) * static_cast<double>(vector.sublanes) *
                        vector.alus * clock.value};
}

}  // namespace tilecast::hwdesc
