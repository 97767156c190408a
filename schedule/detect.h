// May a buffer be pipelined? The three rules of ALCOP (MLSys 2023), section II-A:
//
//   1  it is filled by one asynchronous copy, not by a computation;
//   2  inside a sequential loop that fills it anew in every iteration: from the copy outwards the
//      first sequential loop whose variable does not index the buffer;
//   3  where the machine synchronises a whole scope at once, all pipelined buffers of the scope
//   wait
//      at the same place: in one loop, with one number of stages.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedule/loop_program.h"

namespace tilecast::schedule {

// What the machine copies in the background. NVIDIA from Ampere on: both; a scoreboard watches
// loads into registers, so waiting there costs no instruction.
struct AsyncCopies {
  bool to_shared = true, to_register = true;
  bool waits_for_scope = true;  // barriers belong to a scope, not to a buffer
};

struct LoadUseLoop {
  std::string buffer, producer;  // what it is copied from
  std::string loop;              // the variable of the load-use loop
  Scope scope = Scope::kShared;
};
struct Detection {
  std::optional<LoadUseLoop> found;
  std::string refusal;  // "rule 1: a.shared is computed, not copied"; "" where found
};

// `stages` it would have; other buffers count as pipelined where their stages are above 1.
[[nodiscard]] Detection detect_pipeline(const LoopProgram& program, std::string_view buffer,
                                        int stages, const AsyncCopies& machine = {});

}  // namespace tilecast::schedule
