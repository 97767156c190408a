// Decides whether a buffer can be pipelined, by the three rules of ALCOP (MLSys 2023), section
// II-A:
//
//   1  it is filled by one asynchronous copy, not by a computation;
//   2  it is inside a sequential loop that refills it in every iteration: the innermost loop around
//      the copy whose variable does not index the buffer, which must be sequential;
//   3  if the machine synchronises a whole scope at once, all pipelined buffers of the scope wait
//      at the same place: in one loop, with one number of stages.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedule/loop_program.h"

namespace tilecast::schedule {

// Which copies the machine can run in the background. NVIDIA from Ampere on: both; a scoreboard
// tracks loads into registers, so waiting for them costs no instruction.
struct AsyncCopies {
  bool to_shared = true, to_register = true;
  bool waits_for_scope = true;  // barriers belong to a scope, not to a buffer
};

struct LoadUseLoop {
  std::string buffer, producer;  // the buffer it is copied from
  std::string loop;              // the variable of the load-use loop
  Scope scope = Scope::kShared;
};
struct Detection {
  std::optional<LoadUseLoop> found;
  std::string refusal;  // "rule 1: a.shared is computed, not copied"; "" where found
};

// `stages`: those the buffer would have; other buffers count as pipelined if they have more than
// one.
[[nodiscard]] Detection detect_pipeline(const LoopProgram& program, std::string_view buffer,
                                        int stages, const AsyncCopies& machine = {});

}  // namespace tilecast::schedule
