#include "hwdesc/device.h"

#include <algorithm>

#include "base/error.h"

namespace tilecast::hwdesc {
namespace {

// The entry that covers a variant of a type: f8e4m3fn -> f8, u8 -> s8.
std::string_view stand_in(std::string_view dtype) {
  if (dtype.starts_with("f4")) return "f4";
  if (dtype.starts_with("f8")) return "f8";
  if (dtype == "u8") return "s8";
  if (dtype == "u4") return "s4";
  return dtype;
}

}  // namespace

std::optional<std::size_t> Device::lineage_distance(std::string_view wanted) const {
  if (wanted == name) return 0;
  const auto found = std::ranges::find(lineage, wanted);
  if (found == lineage.end()) return std::nullopt;
  return static_cast<std::size_t>(found - lineage.begin()) + 1;
}

std::optional<std::size_t> Device::lineage_distance(std::span<const std::string> names) const {
  std::optional<std::size_t> nearest;
  for (const std::string& known : names) {
    const auto distance = lineage_distance(known);
    if (distance && (!nearest || *distance < *nearest)) nearest = distance;
  }
  return nearest;
}

FlopsPerSecond Device::matrix_peak(std::string_view dtype) const {
  auto passes = matrix.passes.find(std::string(dtype));
  if (passes == matrix.passes.end()) passes = matrix.passes.find(std::string(stand_in(dtype)));
  if (passes == matrix.passes.end() || matrix.count == 0) return FlopsPerSecond{0};
  const double macs_per_cycle = static_cast<double>(multiplexing.workers) * matrix.count *
                                static_cast<double>(matrix.rows) *
                                static_cast<double>(matrix.columns) * matrix.rows_per_cycle;
  return FlopsPerSecond{2 * macs_per_cycle * matrix.clock.value_or(clock).value / passes->second};
}

Joules Device::product_energy(std::string_view dtype) const {
  TC_CHECK(energy.has_value(), "the energy of a device that describes none");
  if (matrix_peak(dtype).value <= 0) return energy->vector;
  auto found = energy->matrix.find(std::string(dtype));
  if (found == energy->matrix.end()) found = energy->matrix.find(std::string(stand_in(dtype)));
  TC_CHECK(found != energy->matrix.end(), "read_device() asks for an energy per type of passes");
  return found->second;
}

Watts Device::idle_power() const {
  return energy ? energy->idle_power / cores_per_chip : Watts{0};
}

std::optional<Watts> Device::power_limit() const {
  if (!energy || !energy->power_limit) return std::nullopt;
  return *energy->power_limit / cores_per_chip;
}

bool Device::limits_power_of(Seconds launch) const {
  return energy && energy->power_limit && launch >= energy->power_window;
}

FlopsPerSecond Device::vector_peak() const {
  return FlopsPerSecond{static_cast<double>(multiplexing.workers) *
                        static_cast<double>(vector.lanes) * static_cast<double>(vector.sublanes) *
                        vector.alus * clock.value};
}

}  // namespace tilecast::hwdesc
