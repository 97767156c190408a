#include "hwdesc/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/slice.h"

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

template <typename Value>
std::optional<Value> of_type(const std::map<std::string, Value>& values, std::string_view dtype) {
  auto found = values.find(std::string(dtype));
  if (found == values.end()) found = values.find(std::string(stand_in(dtype)));
  return found == values.end() ? std::nullopt : std::optional(found->second);
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
  const std::optional<double> passes = of_type(matrix.passes, dtype);
  if (!passes || matrix.count == 0) return FlopsPerSecond{0};
  const double macs_per_cycle = static_cast<double>(multiplexing.workers) * matrix.count *
                                static_cast<double>(matrix.rows) *
                                static_cast<double>(matrix.columns) * matrix.rows_per_cycle;
  return FlopsPerSecond{2 * macs_per_cycle * matrix.clock.value_or(clock).value / *passes};
}

double Device::product_efficiency(std::string_view dtype) const {
  return of_type(library.efficiency, dtype).value_or(matrix.efficiency);
}

Seconds Device::product_setup(std::string_view dtype) const {
  const Seconds of_any = engines[memory.size() > 2 ? 1 : 0].setup;
  return of_type(library.setup, dtype).value_or(of_any);
}

Joules Device::product_energy(std::string_view dtype) const {
  TC_CHECK(energy.has_value(), "the energy of a device that describes none");
  if (matrix_peak(dtype).value <= 0) return energy->vector;
  const std::optional<Joules> found = of_type(energy->matrix, dtype);
  TC_CHECK(found.has_value(), "read_device() asks for an energy per type of passes");
  return *found;
}

Watts Device::idle_power() const {
  return energy ? energy->idle_power / cores_per_chip : Watts{0};
}

Watts Device::clock_power() const {
  return energy ? energy->clock_power.value_or(Watts{0}) / cores_per_chip : Watts{0};
}

std::optional<Watts> Device::power_limit() const {
  if (!energy || !energy->power_limit) return std::nullopt;
  return *energy->power_limit / cores_per_chip;
}

bool Device::limits_power_of(Seconds launch) const {
  return energy && energy->power_limit && (energy->sustained || launch >= energy->power_window);
}

FlopsPerSecond Device::vector_peak() const {
  return FlopsPerSecond{static_cast<double>(multiplexing.workers) *
                        static_cast<double>(vector.lanes) * static_cast<double>(vector.sublanes) *
                        vector.alus * clock.value};
}

namespace {

// Scales a share of a peak; the peak itself is never calibrated.
void scale(double& share, double factor) {
  share = std::min(share * factor, 1.0);
}

void scale_bandwidth(MemoryLevel& level, double factor) {
  scale(level.efficiency, factor);
  if (level.write_efficiency) scale(*level.write_efficiency, factor);
}

}  // namespace

bool is_calibrated(const Device& device) {
  const Calibration& c = device.calibration;
  const double factors[] = {c.memory_bandwidth, c.memory_write,   c.cache_bandwidth,
                            c.memory_latency,   c.transfer_setup, c.iteration_overhead,
                            c.matrix,           c.vector,         c.transcendental,
                            c.cross_lane,       c.network};
  return c.kernel_overhead.value != 0 ||
         std::any_of(std::begin(factors), std::end(factors), [](double f) { return f != 1; });
}

Device apply_calibration(Device device) {
  const Calibration c = device.calibration;
  MemoryLevel& memory = device.memory.front();
  scale_bandwidth(memory, c.memory_bandwidth);
  if (c.memory_write != 1) {
    memory.write_efficiency = memory.write_efficiency.value_or(memory.efficiency);
    scale(*memory.write_efficiency, c.memory_write);
  }
  for (std::size_t i = 1; i + 1 < device.memory.size(); ++i) {
    scale_bandwidth(device.memory[i], c.cache_bandwidth);
  }
  memory.latency = memory.latency * c.memory_latency;
  for (TransferEngine& engine : device.engines) {
    engine.setup = engine.setup * c.transfer_setup;
    engine.iteration_overhead = engine.iteration_overhead * c.iteration_overhead;
  }
  device.matrix.efficiency *= c.matrix;
  device.vector.efficiency *= c.vector;
  device.transcendental.per_cycle *= c.transcendental;
  device.cross_lane.elements_per_cycle *= c.cross_lane;
  device.cross_lane.reduce_elements_per_cycle *= c.cross_lane;
  device.cross_lane.irregular_elements_per_cycle *= c.cross_lane;
  if (device.interconnect) scale(device.interconnect->efficiency, c.network);
  device.dispatch.kernel_launch += c.kernel_overhead;
  device.calibration = {.dispatch = c.dispatch, .source = c.source};
  return device;
}

namespace {

constexpr std::int64_t kMostChips = 1 << 20;  // per slice

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

bool is_direct(std::string_view topology) {
  return topology == "switch" || topology == "mesh";
}

std::vector<std::int64_t> squarest(std::int64_t chips, int dimensions) {
  constexpr double kMaxSide = 1 << 16;  // bounds the search for divisors
  std::vector<std::int64_t> sides;
  for (int left = dimensions; left > 1; --left) {
    const double side = std::pow(static_cast<double>(chips), 1.0 / left);
    auto divisor = static_cast<std::int64_t>(std::clamp(std::floor(side + 1e-9), 1.0, kMaxSide));
    while (chips % divisor != 0) --divisor;
    sides.push_back(divisor);
    chips /= divisor;
  }
  sides.push_back(chips);
  return sides;
}

std::vector<bool> wrapped(const std::vector<std::int64_t>& sides, int wraps_from) {
  const auto wraps = [from = std::max(3, wraps_from)](std::int64_t side) { return side >= from; };
  const bool cubes = sides.size() < 3 || std::ranges::all_of(sides, wraps);
  std::vector<bool> rings;
  for (const std::int64_t side : sides) rings.push_back(cubes && wraps(side));
  return rings;
}

std::vector<std::int64_t> slice_shape(std::string_view shape) {
  std::vector<std::int64_t> dims;
  std::int64_t chips = 1;
  for (const std::string_view part : split_at(shape, 'x')) {
    const std::int64_t side = base::parse_number<std::int64_t>(part).value_or(0);
    if (side < 1 || side > kMostChips || chips * side > kMostChips) {
      throw Error(fmt::format(
          "got {}, expected chips along each dimension such as 4x4x8, at most {} in all",
          show_text(shape), kMostChips));
    }
    chips *= side;
    dims.push_back(side);
  }
  return dims;
}

std::vector<bool> slice_rings(std::string_view wraps, std::size_t dimensions) {
  std::vector<bool> rings;
  for (const std::string_view word : split_at(wraps, ' ')) {
    if (word != "ring" && word != "line") break;
    rings.push_back(word == "ring");
  }
  if (rings.size() != dimensions || split_at(wraps, ' ').size() != dimensions) {
    throw Error(
        fmt::format("got {}, expected ring or line for each of {} dimensions, such as 'ring line'",
                    show_text(wraps), dimensions));
  }
  return rings;
}

}  // namespace tilecast::hwdesc
