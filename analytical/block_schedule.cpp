#include "analytical/block_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analytical/compute_units.h"
#include "analytical/pipeline.h"
#include "analytical/simt_launch.h"

namespace tilecast::analytical {
namespace {

constexpr double kLanes = 32;            // that read together; threads per warp on most machines
constexpr double kRegisterBytes = 4;     // per register
constexpr double kInstructionRows = 16;  // per matrix instruction (mma.m16n8k16)
constexpr double kRegisterGranule = 8;   // registers are allocated in eights
constexpr double kCopyBytes = 16;        // per asynchronous copy of a thread
constexpr double kMostBlocks = 32;       // per worker, whatever they need
constexpr double kCopyInstructions = 3;  // the copy and its addresses
constexpr double kRegisterStages = 2;
constexpr double kLaneLatency = 4;  // cycles until a multiply-add's result can be used (Volta on)

// Work and reads of one warp. A matrix unit takes whole instructions per slice of the depth; lanes
// take one multiply-add per thread, result and depth step.
struct WarpTile {
  WarpGrid grid;
  double rows, columns;          // per warp
  double slice_depth, slices;    // depth is cut into these
  double instructions, fetches;  // per slice
  double operand_registers;      // per thread: one slice of both operands
  double reads;                  // elements per slice, all lanes; repeated passes counted

  WarpTile(const BlockSchedule& schedule, const hwdesc::Device& device)
      : grid(warp_grid(schedule)),
        rows(schedule.rows / grid.rows),
        columns(schedule.columns / grid.columns) {
    if (schedule.windows.reads > 0) {
      read_windows(schedule);
    } else if (schedule.threads.rows > 0) {
      split_over_threads(schedule);
    } else {
      schedule.on_lanes ? split_over_lanes() : split_into_instructions(device.matrix);
    }
    slices = std::ceil(schedule.depth / slice_depth);
    operand_registers *= schedule.operand_bytes / kRegisterBytes;
  }

 private:
  void split_into_instructions(const hwdesc::MatrixUnit& unit) {
    const double unit_columns = std::max<double>(1, static_cast<double>(unit.columns));
    slice_depth = std::max<double>(1, static_cast<double>(unit.rows));
    rows = round_up(rows, kInstructionRows);
    columns = round_up(columns, unit_columns);
    const double down = rows / kInstructionRows, along = columns / unit_columns;
    instructions = down * along;
    fetches = down + std::ceil(along / 2);  // ldmatrix brings two slices of the columns
    operand_registers = (rows + columns) * slice_depth / kLanes;
  }
  void split_over_lanes() {
    slice_depth = 1;
    const double results = std::max(1.0, rows * columns / kLanes);  // per thread
    const double side = std::min(std::sqrt(results), std::max(rows, 1.0));
    instructions = results;
    operand_registers = side + results / side;
    fetches = operand_registers * kRegisterBytes / kCopyBytes;
    reads = kLanes * operand_registers;
  }
  // Each thread computes a box of neighbouring results. Elements that pass for loads of `vector`
  // elements over `size` elements per thread: 16-byte loads pass eight lanes at a time, and lanes
  // `size` apart may hit the same bank.
  static double passing(double size, double vector, double distinct_lanes) {
    const double lanes = kLanes / vector;  // passing together
    const double clash = std::min(distinct_lanes, lanes) * size / kLanes;
    return kLanes * size * std::max(1.0, clash);
  }
  void split_over_threads(const BlockSchedule& schedule) {
    const ThreadGrid& threads = schedule.threads;
    const double down = schedule.rows / threads.rows, along = schedule.columns / threads.columns;
    const double widest = kCopyBytes / schedule.operand_bytes;
    const double row_vector = std::clamp(std::min(threads.row_vector, down), 1.0, widest);
    const double column_vector = std::clamp(std::min(threads.column_vector, along), 1.0, widest);
    const double lanes_along = std::min(threads.columns, kLanes);
    slice_depth = 1;
    instructions = down * along;
    fetches = down / row_vector + along / column_vector;
    operand_registers = down + along;
    reads = passing(along, column_vector, lanes_along) +
            passing(down, row_vector, std::max(1.0, kLanes / row_vector / lanes_along));
  }
  void read_windows(const BlockSchedule& schedule) {
    slice_depth = 1;
    instructions =
        schedule.rows * schedule.columns / (schedule.threads.rows * schedule.threads.columns);
    operand_registers = schedule.windows.reads / schedule.depth;
    fetches = operand_registers * (1 + schedule.windows.guards);
    reads = kLanes * operand_registers;
  }
};

// Bytes copied to the worker's memory per step.
double step_bytes(const BlockSchedule& schedule) {
  if (schedule.direct) return 0;
  if (schedule.windows.reads > 0) return schedule.windows.bytes;
  return schedule.matrices * (schedule.rows + schedule.columns) * schedule.depth *
         schedule.operand_bytes;
}

double copies_of_a_thread(const BlockSchedule& schedule) {
  return step_bytes(schedule) / kCopyBytes / (schedule.lanes * schedule.warps);
}

double registers_wanted(const BlockSchedule& schedule, const WarpTile& warp) {
  const double threads = schedule.threads.rows > 0
                             ? schedule.threads.rows * schedule.threads.columns
                             : schedule.lanes * schedule.warps;
  const double accumulators = schedule.matrices * schedule.rows * schedule.columns / threads;
  constexpr double kAddress = 2;  // registers
  return accumulators + kRegisterStages * warp.operand_registers +
         kAddress * copies_of_a_thread(schedule) + kOwnRegisters;
}

BlockOccupancy occupancy_of(const BlockSchedule& schedule, const WarpTile& warp,
                            const hwdesc::Device& device) {
  BlockOccupancy held;
  const hwdesc::Multiplexing& worker = device.multiplexing;
  const double wanted = registers_wanted(schedule, warp);
  double most = kMostRegisters;
  if (schedule.threads.rows > 0) {  // the compiler limits registers so that one block fits
    const double threads = schedule.lanes * schedule.warps;
    const double fit = worker.registers_per_worker.value / kRegisterBytes / threads;
    most = std::min(most, std::floor(fit / kRegisterGranule) * kRegisterGranule);
  }
  held.spilled = std::max(0.0, wanted - most);
  held.registers = std::ceil(std::min(wanted, most) / kRegisterGranule) * kRegisterGranule;
  held.shared_bytes = schedule.stages * step_bytes(schedule) + kReservedShared;
  const double thread_bytes = held.registers * kRegisterBytes;
  const std::array<std::pair<double, std::string_view>, 4> limits{{
      {worker_memory(device).capacity.value / held.shared_bytes, "shared memory"},
      {worker.registers_per_worker.value / (thread_bytes * schedule.lanes * schedule.warps),
       "registers"},
      {worker.max_resident * static_cast<double>(worker.warps_per_block) / schedule.warps, "warps"},
      {kMostBlocks, "blocks"},
  }};
  const auto least = std::min_element(limits.begin(), limits.end());
  held.resident = std::floor(least->first);
  held.limit = least->second;
  return held;
}

// Bytes per second that a worker's load unit brings from the core's cache.
double load_rate(const hwdesc::Device& device) {
  return device.vector.load_ports * static_cast<double>(device.vector.lanes) * kRegisterBytes *
         device.clock.value;
}

double cache_latency_s(const hwdesc::Device& device) {
  const hwdesc::MemoryLevel* cache = shared_cache(device);
  return (cache != nullptr ? *cache : device.main_memory()).latency.value;
}

// Loads and stores of results kept in memory, per thread and step.
double results_in_memory(const BlockSchedule& schedule, const WarpTile& warp) {
  return schedule.windows.results_in_memory ? 2 * warp.slices * warp.instructions : 0;
}

BlockStep step_of(const BlockSchedule& schedule, const WarpTile& warp, double spilled_registers,
                  double matrix_rate, const hwdesc::Device& device) {
  const double cycle_s = 1 / device.clock.value;
  const double workers = std::max(device.multiplexing.workers, 1);
  const double units = std::max(device.matrix.count, 1);
  const double padded_rows = warp.grid.rows * warp.rows;
  const double padded_columns = warp.grid.columns * warp.columns;
  constexpr double kMultiplyAdd = 2;

  BlockStep step;
  step.matrix_s = kMultiplyAdd * schedule.matrices * padded_rows * padded_columns * schedule.depth /
                  matrix_rate;
  if (schedule.threads.rows > 0) {  // lanes of the last warp may be idle
    step.matrix_s *=
        schedule.lanes * schedule.warps / (schedule.threads.rows * schedule.threads.columns);
  }
  // Lanes read 16 bytes each, eight lanes at a time; data that several groups read passes
  // repeatedly.
  const double lines = schedule.on_lanes
                           ? schedule.warps * schedule.lanes / kLanes * warp.reads
                           : padded_rows * warp.grid.columns + padded_columns * warp.grid.rows;
  const double read = schedule.matrices * lines * schedule.depth * schedule.operand_bytes;
  const double spilled = 2 * spilled_registers * kRegisterBytes * schedule.lanes * schedule.warps;
  const double results = results_in_memory(schedule, warp);
  step.result_bytes = results * kRegisterBytes * schedule.lanes * schedule.warps;
  const double shared_rate = device.scratchpad().bandwidth.value / workers;
  const double rate = schedule.direct ? load_rate(device) : shared_rate;
  step.shared_s =
      (read + step_bytes(schedule) + spilled) / rate + step.result_bytes / load_rate(device);
  const double instructions = warp.slices * schedule.matrices * (warp.instructions + warp.fetches) +
                              results + kCopyInstructions * copies_of_a_thread(schedule) +
                              kStepInstructions;
  step.issue_s = schedule.warps / units * instructions * cycle_s;

  const double latency_s = device.scratchpad().latency.value;
  const double unit_s =
      schedule.on_lanes ? kLaneLatency * cycle_s + schedule.windows.waits * cache_latency_s(device)
                        : device.matrix.fill.value * cycle_s;
  const double alone = units_in_use(schedule.warps, device);
  const PipelineLoop registers{
      .path_s = step.shared_s / warp.slices,
      .core_s = std::max(step.matrix_s, step.issue_s) / alone / warp.slices,
      .round_trip_s = latency_s + unit_s,
      .in_order_s = unit_s,
      .stages = schedule.windows.reads > 0 ? schedule.windows.ahead : kRegisterStages};
  step.use_s = device.engines.back().iteration_overhead.value + latency_s +
               warp.slices * steady_period_s(registers);
  return step;
}

}  // namespace

WarpGrid warp_grid(const BlockSchedule& schedule) {
  WarpGrid grid;
  while (grid.rows * grid.columns < schedule.warps) {
    const bool rows_longer = schedule.rows / grid.rows >= schedule.columns / grid.columns;
    const bool more_rows = rows_longer && grid.rows * kInstructionRows < schedule.rows;
    (more_rows ? grid.rows : grid.columns) *= 2;
  }
  return grid;
}

double units_in_use(double warps, const hwdesc::Device& device) {
  const double units = std::max(device.matrix.count, 1);
  return warps / units / std::ceil(warps / units);
}

BlockOccupancy occupancy(const BlockSchedule& schedule, const hwdesc::Device& device) {
  return occupancy_of(schedule, WarpTile(schedule, device), device);
}

BlockStep step_of(const BlockSchedule& schedule, const BlockOccupancy& held, double matrix_rate,
                  const hwdesc::Device& device) {
  return step_of(schedule, WarpTile(schedule, device), held.spilled, matrix_rate, device);
}

ScheduledBlock scheduled(const BlockSchedule& schedule, double matrix_rate,
                         const hwdesc::Device& device) {
  const WarpTile warp(schedule, device);
  const BlockOccupancy held = occupancy_of(schedule, warp, device);
  if (held.resident < 1) return {schedule, held, {}};
  return {schedule, held, step_of(schedule, warp, held.spilled, matrix_rate, device)};
}

}  // namespace tilecast::analytical
