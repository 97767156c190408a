#include "hwdesc/calibration.h"

#include <algorithm>

namespace tilecast::hwdesc {
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

}  // namespace tilecast::hwdesc
