// A matrix product as a code generator writes it for thread blocks: how large a block's tile, how
// many buffers (stages), how many warps. Two load-use pipelines, one inside the other (ALCOP, Huang
// et al., MLSys 2023, Table I): main memory to shared memory, shared memory to registers.
//
// A step of a block multiplies rows x depth by depth x columns. Alone on its worker it occupies
//   matrix  the unit: the tile padded to the warps' instructions; a block of fewer warps than the
//           worker has units uses only so many of them. On plain lanes: multiply-adds of threads
//           that each hold a square of results, or the box that ThreadGrid gives them
//   shared  shared memory: operands are written once, each is read by the warps that stand side by
//           side over the tile; registers beyond 255 a thread are written and read again. What is
//           not copied passes the core's cache at the rate of its load unit
//   issue   one instruction a cycle for each unit's warps
//   use     the inner pipeline over the unit's depth, registers double-buffered: pipeline.h, where
//           a load is shared memory's latency and a use the unit's; then the barrier
// `registers` are accumulators, two slices of both operands (32 lanes hold a slice between them),
// addresses of the copies and kOwnRegisters, in eights. Resident blocks: whatever of registers,
// shared memory, warps runs out first. Pure functions, thread-safe.
#pragma once

#include <string_view>

#include "hwdesc/device.h"

namespace tilecast::analytical {

inline constexpr double kMostRegisters = 255;    // of a thread (CUDA programming guide)
inline constexpr double kOwnRegisters = 30;      // of a thread: loop, addresses (estimate)
inline constexpr double kStepInstructions = 40;  // of a warp: loop, addresses, barrier (estimate)
inline constexpr double kReservedShared = 1024;  // bytes of a block (compute capability 8.0 on)

// How threads stand over a tile, those of a row of it next to each other; each holds a box of
// neighbouring results. A load of up to 16 bytes brings `vector` elements; lanes that pass together
// take turns where their elements lie in the same of 32 banks (CUDA programming guide).
struct ThreadGrid {
  double rows = 0, columns = 0;              // 0: not told
  double row_vector = 4, column_vector = 4;  // elements that a load brings
};

// What threads read below the windows of their results, where the tile says its threads. Weights
// are those of the whole warp (constant memory): no reads.
struct WindowReads {
  double bytes = 0;   // of the input below all windows of a block
  double reads = 0;   // elements that a thread reads in a step; 0: not told
  double guards = 0;  // instructions for each, where a tile may stand out over the edge
  double ahead = 1;   // positions whose reads are on their way together
  // Guards are branches (hwdesc::Multiplexing::guards_branch): a compiler that writes them out for
  // every position of the window keeps a thread's results, if it has several, in memory. Each
  // multiply-add then reads and writes its result through the cache of all workers.
  bool results_in_memory = false;
  double waits = 0;  // round trips to that cache, one after the other, of each multiply-add
};

struct BlockSchedule {
  double rows = 1, columns = 1, depth = 1;  // of a step, elements
  double matrices = 1;                      // such products side by side in a block
  double stages = 1;                        // buffers of each operand
  double warps = 4;
  double lanes = 32;         // threads of a warp
  double operand_bytes = 2;  // of an element
  bool on_lanes = false;     // plain vector lanes multiply, not the matrix unit
  bool direct = false;       // operands are read through the cache, not copied
  ThreadGrid threads;
  WindowReads windows;
};

struct WarpGrid {  // how warps stand over a tile
  double rows = 1, columns = 1;
};
// Doubled towards the side that is longer per warp, as compilers of tensor-core code do.
[[nodiscard]] WarpGrid warp_grid(const BlockSchedule& schedule);

struct BlockOccupancy {
  double registers = 0, spilled = 0;  // of a thread: held, and what does not fit
  double shared_bytes = 0;            // buffers, and what is reserved
  double resident = 0;                // blocks of a worker; 0: not even one fits
  std::string_view limit;             // "shared memory", "registers", "warps", "blocks"
};
[[nodiscard]] BlockOccupancy occupancy(const BlockSchedule& schedule, const hwdesc::Device& device);

struct BlockStep {  // seconds of one block alone on its worker
  double matrix_s = 0, shared_s = 0, issue_s = 0, use_s = 0;
  double result_bytes = 0;  // of results in memory, to and from the cache of all workers
};
// `matrix_rate`: FLOP/s of a worker's matrix units, or of its lanes.
[[nodiscard]] BlockStep step_of(const BlockSchedule& schedule, const BlockOccupancy& held,
                                double matrix_rate, const hwdesc::Device& device);
struct ScheduledBlock {
  BlockSchedule schedule;
  BlockOccupancy held;
  BlockStep step;
};
// Both at once; no step where not even one block fits.
[[nodiscard]] ScheduledBlock scheduled(const BlockSchedule& schedule, double matrix_rate,
                                       const hwdesc::Device& device);
// Share of a worker's matrix units that `warps` resident warps can use.
[[nodiscard]] double units_in_use(double warps, const hwdesc::Device& device);

}  // namespace tilecast::analytical
