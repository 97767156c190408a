#include "sim/roofs.h"

#include <algorithm>

namespace tilecast::sim {

MachineRoofs machine_roofs(const hwdesc::Device& device) {
  MachineRoofs roofs;
  for (const auto& [dtype, passes] : device.matrix.passes) {
    const FlopsPerSecond rate = device.matrix_peak(dtype);
    if (rate.value > 0) roofs.peaks.push_back({"matrix", dtype, rate});
  }
  const FlopsPerSecond vector = device.vector_peak();
  if (vector.value > 0) roofs.peaks.push_back({"vector", "32-bit", vector});
  std::ranges::stable_sort(roofs.peaks, [](const ComputeRoof& a, const ComputeRoof& b) {
    return a.rate.value > b.rate.value;
  });
  for (const hwdesc::MemoryLevel& level : device.memory) {
    roofs.memory.push_back({level.name, level.bandwidth, level.peak_write(), level.capacity});
  }
  return roofs;
}

}  // namespace tilecast::sim
