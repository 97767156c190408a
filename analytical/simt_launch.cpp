#include "analytical/simt_launch.h"

#include <algorithm>
#include <cmath>

namespace tilecast::analytical {
namespace {

// Besides accumulators, a thread holds fragments of both operands, addresses and loop state: about
// as many registers again in matrix kernels (CUTLASS uses 128 of 255 for a 128x256 tile).
constexpr double kAccumulatorRegisters = 0.5;

}  // namespace

const hwdesc::MemoryLevel& worker_memory(const hwdesc::Device& device) {
  return device.memory[std::min<std::size_t>(2, device.memory.size() - 1)];
}

const hwdesc::MemoryLevel* shared_cache(const hwdesc::Device& device) {
  return device.memory.size() > 2 ? &device.memory[1] : nullptr;
}

double resident_blocks(const hwdesc::Device& device, const BlockNeeds& needs) {
  double resident = device.multiplexing.max_resident;
  if (needs.shared_bytes > 0) {
    resident =
        std::min(resident, std::floor(worker_memory(device).capacity.value / needs.shared_bytes));
  }
  const double registers = device.multiplexing.registers_per_worker.value;
  if (needs.register_bytes > 0 && registers > 0) {
    resident =
        std::min(resident, std::floor(kAccumulatorRegisters * registers / needs.register_bytes));
  }
  return resident;
}

Launch launch_of(const hwdesc::Device& device, double resident, double blocks) {
  const double workers = std::max(device.multiplexing.workers, 1);
  Launch launch;
  launch.resident = resident;
  launch.waves = std::ceil(blocks / (workers * resident));
  launch.per_worker = std::ceil(blocks / workers);
  launch.wave_blocks = std::min(blocks, workers * resident);
  return launch;
}

double slowed_by_power(const hwdesc::Device& device, double core_s) {
  const hwdesc::MatrixUnit& unit = device.matrix;
  if (!unit.limited_clock || core_s <= 0) return 1;
  const double ratio = unit.clock.value_or(device.clock).value / unit.limited_clock->value;
  return 1 + (ratio - 1) * std::max(core_s - unit.full_clock_time.value, 0.0) / core_s;
}

WaveShape wave_shape(double wave_blocks, double rows, double columns, double row_bytes,
                     double column_bytes) {
  WaveShape shape;
  if (row_bytes <= 0 || column_bytes <= 0) {
    shape.columns = row_bytes > 0 ? std::min(columns, wave_blocks) : 1;
    shape.rows = std::clamp(wave_blocks / shape.columns, 1.0, rows);
    shape.columns = std::clamp(wave_blocks / shape.rows, 1.0, columns);
    return shape;
  }
  shape.rows = std::clamp(std::sqrt(wave_blocks * column_bytes / row_bytes), 1.0, rows);
  shape.columns = std::clamp(wave_blocks / shape.rows, 1.0, columns);
  shape.rows = std::clamp(wave_blocks / shape.columns, 1.0, rows);
  return shape;
}

}  // namespace tilecast::analytical
