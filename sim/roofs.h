// Peak rates of a machine for roofline plots: by unit and type, and bandwidths.
//
//   MachineRoofs roofs = machine_roofs(device);
//   roofs.peaks.front().rate      // FLOP/s of one core's matrix unit for one type
//   roofs.memory.front().read     // bytes/s of main memory
//
// Data-sheet rates of one core (hwdesc/device.h), without sustained shares. Plain values,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::sim {

struct ComputeRoof {
  std::string unit, dtype;  // "matrix", "bf16"; the vector unit counts 32-bit operations
  FlopsPerSecond rate;      // > 0
};

struct MemoryRoof {
  std::string name;  // "hbm", "vmem"
  BytesPerSecond read, write;
  Bytes capacity;
};

struct MachineRoofs {
  std::vector<ComputeRoof> peaks;  // fastest first
  std::vector<MemoryRoof> memory;  // outermost first
};

[[nodiscard]] MachineRoofs machine_roofs(const hwdesc::Device& device);

}  // namespace tilecast::sim
