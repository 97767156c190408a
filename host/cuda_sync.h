// Plans the synchronisation of a thread block: barriers, and waits for asynchronous copies.
//
// Walks the loops of one block at the level of whole buffers. Threads share buffers in shared
// memory, and arrays in main memory that the block both reads and writes. Between two barriers, no
// thread may access data that another one wrote, nor write data that another one accessed. A batch
// is visible to all threads once each has waited for its own copies and then passed a barrier.
// Copies to registers need neither, since the hardware waits for a register when it is used.
// Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/loop_program.h"

namespace tilecast::host {

using BufferStage = std::pair<std::string, std::int64_t>;  // buffer, stage
struct CopyWait {
  int prior = 0;         // latest batches that may still be in flight
  bool barrier = false;  // a barrier follows the wait
};
struct SyncPlan {
  std::set<const schedule::Statement*> barriers;  // a barrier before each of these statements
  std::map<const schedule::Statement*, CopyWait> waits;
  std::set<const schedule::Statement*> commits;
};
// `also`: further shared memory that a statement overwrites. The plan points into `block`.
[[nodiscard]] SyncPlan plan_sync(
    const schedule::LoopProgram& program, const schedule::Body& block,
    const std::function<std::vector<BufferStage>(const schedule::Statement&)>& also = {});

// Moves each batch behind the wait that follows it, if that wait is for an earlier batch. One
// barrier then both releases the stage to be filled and makes the stage to be read visible.
[[nodiscard]] schedule::Body waits_first(schedule::Body block);

// Replaces loops with a single iteration by their bodies.
[[nodiscard]] schedule::Body without_single_loops(schedule::Body block);

}  // namespace tilecast::host
