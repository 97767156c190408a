// A matrix product as a code generator writes it for GPU thread blocks: block tile size, number of
// buffers (stages) and warps. Two nested load-use pipelines (ALCOP, Huang et al., MLSys 2023, Table
// I): main memory to shared memory, and shared memory to registers.
//
// One step of a block multiplies rows x depth by depth x columns. Alone on its worker it occupies
//   matrix  the matrix unit, for the tile padded to the warps' instructions; if the block has fewer
//           warps than the worker has units, only that many units. On plain lanes: multiply-adds of
//           threads that each hold a square of results, or the box that ThreadGrid gives them
//   shared  shared memory: operands are written once and read by every warp that needs them;
//           registers beyond 255 per thread are spilled and reloaded. Operands that are not copied
//           pass the core's cache at the rate of its load unit
//   issue   one instruction per cycle for each unit's warps
//   use     the inner pipeline over the depth, registers double-buffered: pipeline.h with shared
//           memory's latency as the load and the unit's as the use; then the barrier
// Registers per thread: accumulators, two slices of both operands (spread over 32 lanes), copy
// addresses and kOwnRegisters, rounded up to eights. Resident blocks: limited by registers, shared
// memory or warps, whichever runs out first. Pure functions, thread-safe.
#pragma once

#include <string_view>

#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kMostRegisters = 255;    // per thread (CUDA programming guide)
inline constexpr double kOwnRegisters = 30;      // per thread: loop, addresses (estimate)
inline constexpr double kStepInstructions = 40;  // per warp: loop, addresses, barrier (estimate)
inline constexpr double kReservedShared = 1024;  // bytes per block (compute capability 8.0 on)

// Threads over a tile, row by row; each computes a box of neighbouring results. A load brings
// `vector` elements, at most 16 bytes; lanes that load together take turns where their elements
// fall into the same of 32 banks (CUDA programming guide).
struct ThreadGrid {
  double rows = 0, columns = 0;              // 0: unknown
  double row_vector = 4, column_vector = 4;  // elements per load
};

// Reads of a block's threads for the windows of their results, where the tile states its threads.
// Weights are the same for the whole warp (constant memory) and cost no reads.
struct WindowReads {
  double bytes = 0;   // input under all windows of a block
  double reads = 0;   // elements per thread and step; 0: unknown
  double guards = 0;  // instructions per read, where a tile may cross the edge
  double ahead = 1;   // window positions whose reads are in flight together
  // Guards are branches (hwdesc::Multiplexing::guards_branch): a compiler that unrolls them for
  // every window position keeps the results of a thread in memory if it has several. Each
  // multiply-add then reads and writes its result through the cache that all workers share.
  bool results_in_memory = false;
  double waits = 0;  // serial round trips to that cache per multiply-add
};

struct BlockSchedule {
  double rows = 1, columns = 1, depth = 1;  // elements per step
  double matrices = 1;                      // products per block
  double stages = 1;                        // buffers per operand
  double warps = 4;
  double lanes = 32;         // threads per warp
  double operand_bytes = 2;  // per element
  bool on_lanes = false;     // plain vector lanes multiply, not the matrix unit
  bool direct = false;       // operands are read through the cache, not copied
  ThreadGrid threads;
  WindowReads windows;
};

struct WarpGrid {  // warps along each side of a tile
  double rows = 1, columns = 1;
};
// Doubles the grid along the side that is longer per warp, as tensor-core compilers do.
[[nodiscard]] WarpGrid warp_grid(const BlockSchedule& schedule);

struct BlockOccupancy {
  double registers = 0, spilled = 0;  // per thread: held, and those that do not fit
  double shared_bytes = 0;            // buffers and the reserved part
  double resident = 0;                // blocks per worker; 0: not even one fits
  std::string_view limit;             // "shared memory", "registers", "warps", "blocks"
};
[[nodiscard]] BlockOccupancy occupancy(const BlockSchedule& schedule, const hwdesc::Device& device);

struct BlockStep {  // seconds per step of one block alone on its worker
  double matrix_s = 0, shared_s = 0, issue_s = 0, use_s = 0;
  double result_bytes = 0;  // of results kept in memory, to and from the shared cache
};
// `matrix_rate`: FLOP/s of one worker's matrix units, or of its lanes.
[[nodiscard]] BlockStep step_of(const BlockSchedule& schedule, const BlockOccupancy& held,
                                double matrix_rate, const hwdesc::Device& device);
struct ScheduledBlock {
  BlockSchedule schedule;
  BlockOccupancy held;
  BlockStep step;
};
// occupancy() and step_of() together; the step is zero if not even one block fits.
[[nodiscard]] ScheduledBlock scheduled(const BlockSchedule& schedule, double matrix_rate,
                                       const hwdesc::Device& device);
// Share of a worker's matrix units that `warps` resident warps keep busy.
[[nodiscard]] double units_in_use(double warps, const hwdesc::Device& device);

}  // namespace tilecast::analytical
