#include "analytical/simt_launch.h"

#include <algorithm>
#include <cmath>

namespace tilecast::analytical {
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
    resident = std::min(resident,
                        std::floor(device.library.accumulators * registers / needs.register_bytes));
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

double miss_share(double capacity, double bytes) {
  return bytes > 0 ? std::max(0.0, 1 - capacity / bytes) : 0;
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

namespace {

// Blocks of a wave drift apart by this share of their steps; shared data must stay in the cache
// that long. Without drift, 16 x 32 tiles of long contractions are predicted three times too fast;
// 5 to 20 % rank tiles equally well (25,600 runs of 892 products on an A100).
constexpr double kDrift = 0.1;
constexpr double kGroupedRows = 8;  // tiles whose columns run together (Triton's GROUP_M)

}  // namespace

std::array<Waves, 2> waves_of(double blocks, double resident, double workers) {
  const double together = workers * resident;
  const double full = std::floor(blocks / together), left = blocks - full * together;
  return {
      {{.count = full, .resident = resident, .in_flight = together},
       {.count = left > 0 ? 1.0 : 0.0, .resident = std::ceil(left / workers), .in_flight = left}}};
}

// Tiles of a wave form groups of rows. Data that earlier waves left in the cache is not loaded
// again; data that drifting blocks no longer find there is.
double wave_step_bytes(const ProductBlock& product, double in_flight, double capacity,
                       double input_bytes) {
  const auto [rows, columns] = product.grid;
  WaveShape wave{.rows = std::min(rows, kGroupedRows)};
  wave.columns = std::clamp(std::ceil(in_flight / wave.rows), 1.0, columns);
  wave.rows = std::clamp(in_flight / wave.columns, wave.rows, rows);
  double alone = 0, together = 0;
  for (const ProductBlock::Load& load : product.loads) {
    const double loaded = in_flight * load.bytes;
    const double shared = (load.by_row ? 1 : wave.rows) * (load.by_column ? 1 : wave.columns);
    alone += loaded;
    together += loaded / std::clamp(shared, 1.0, in_flight) / load.broadcast;
  }
  const double waves = std::ceil(product.blocks / in_flight);
  const double everything = together * product.steps * waves;
  const double new_share = std::max(miss_share(capacity, input_bytes),
                                    std::min(1.0, input_bytes / std::max(everything, 1.0)));
  const double between = together * std::max(kDrift * product.steps, 1.0);
  return together * new_share + (alone - together) * miss_share(capacity, between);
}

ContendedPeriod::ContendedPeriod(const WaveTimes& busy_s) {
  WaveTimes top = busy_s;
  for (std::size_t half = top.size() / 2; half > 0; half /= 2) {  // a chain of three, not eight
    for (std::size_t i = 0; i < half; ++i) top[i] = std::max(top[i], top[i + half]);
  }
  const double longest = top[0];
  if (longest <= 0) return;
  for (std::size_t i = 0; i < busy_s.size(); ++i) {
    const double square = std::pow(busy_s[i] / longest, 2);
    power_[i] = square * square;
  }
  for (const double power : power_) sum_ += power;
  seconds_ = longest * std::sqrt(std::sqrt(sum_));
}

double ContendedPeriod::waited_s(std::size_t i) const {
  return sum_ > 0 ? power_[i] / sum_ * seconds_ : 0;
}

}  // namespace tilecast::analytical
