#include "analytical/power_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/energy.h"

namespace tilecast::analytical {
namespace {

constexpr int kHalvings = 24;  // of the clock interval: down to 6e-8 of it

// Energy at `factor` x the clock, given that at the described clock.
LaunchEnergy scaled_energy(LaunchEnergy at_full_clock, double exponent, double factor) {
  const double core = std::pow(factor, exponent - 1);
  at_full_clock.compute = core * at_full_clock.compute;
  at_full_clock.on_chip = core * at_full_clock.on_chip;
  return at_full_clock;
}

}  // namespace

hwdesc::Device at_clock(hwdesc::Device device, double factor) {
  device.clock = factor * device.clock;
  if (device.matrix.clock) device.matrix.clock = factor * *device.matrix.clock;
  for (std::size_t i = 1; i < device.memory.size(); ++i) {
    hwdesc::MemoryLevel& level = device.memory[i];
    level.bandwidth = factor * level.bandwidth;
    if (level.write_bandwidth) level.write_bandwidth = factor * *level.write_bandwidth;
    level.latency = level.latency / factor;
  }
  return device;
}

Estimate hold_to_power_limit(Estimate full, const hwdesc::Device& device,
                             const std::function<Estimate(const hwdesc::Device&)>& estimate_on) {
  const std::optional<Watts> limit = device.power_limit();
  if (!limit || !full.energy || full.time.value <= 0) return full;
  if (!device.limits_power_of(full.time)) return full;
  if (average_power(full, device) <= *limit) return full;
  const LaunchEnergy energy = *full.energy;
  const auto at = [&](double factor) {
    Estimate slower = estimate_on(at_clock(device, factor));
    slower.model = full.model;
    slower.flops = full.flops;
    slower.speed_of_light = full.speed_of_light;
    slower.flags = full.flags;
    slower.time = std::max(slower.time, full.time);
    slower.energy = scaled_energy(energy, device.energy->clock_exponent, factor);
    slower.clock_factor = factor;
    return slower;
  };
  double low = kLowestClock;
  double high = 1;
  Estimate held = at(low);
  if (average_power(held, device) <= *limit) {
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      Estimate between = at(middle);
      const bool allowed = average_power(between, device) <= *limit;
      (allowed ? low : high) = middle;
      if (allowed) held = std::move(between);
    }
  } else {
    held.time = held.energy->total() / (*limit - device.idle_power());
  }
  held.flags.push_back(
      fmt::format("power limit {:g} W: the clock is lowered", device.energy->power_limit->value));
  return held;
}

}  // namespace tilecast::analytical
