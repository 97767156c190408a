// What a block of threads has to wait for: barriers, and batches of asynchronous copies.
//
// The loops of one block are run without their elements. Threads share what lies in shared memory,
// and arrays in main memory that the block both reads and writes. Between a barrier and the next,
// no thread may touch what another one wrote, nor write what another one touched; a batch is seen
// by all once each thread has waited for its own copies and then for the others. Copies to
// registers need neither: the machine waits for a register where it is used. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/loop_program.h"

namespace tilecast::host {

using BufferStage = std::pair<std::string, std::int64_t>;  // of a buffer
struct CopyWait {
  int prior = 0;         // batches that may still be under way, the latest ones
  bool barrier = false;  // then all threads wait for each other
};
struct SyncPlan {
  std::set<const schedule::Statement*> barriers;  // before these
  std::map<const schedule::Statement*, CopyWait> waits;
  std::set<const schedule::Statement*> commits;
};
// `also`: what else of the shared memory a statement overwrites. The plan points into `block`.
[[nodiscard]] SyncPlan plan_sync(
    const schedule::LoopProgram& program, const schedule::Body& block,
    const std::function<std::vector<BufferStage>(const schedule::Statement&)>& also = {});

// The same with each batch issued after the wait that follows it, where an earlier batch is what is
// waited for: one barrier then frees the stage that is filled and shows the one that is read.
[[nodiscard]] schedule::Body waits_first(schedule::Body block);

// With the bodies of loops that run once in place of the loops.
[[nodiscard]] schedule::Body without_single_loops(schedule::Body block);

}  // namespace tilecast::host
