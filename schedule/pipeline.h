// Pipelines loops: copies are issued stages - 1 iterations before their data is used.
//
// ALCOP (MLSys 2023), section III. Analysis: the buffers to pipeline and their stages (1), their
// sources and readers (2), the load-use loop (3), the statements that load and use (4), the place
// of the first loads (5). Transformation: buffers hold `stages` boxes (1); loads are shifted ahead
// (2); slots wrap at the stages, positions at the loop's end, where an inner loop's overflow
// advances the outer one (3); first loads go before the loop (4); acquire and commit around loads,
// wait and release around uses (5). A pipeline whose loads read a pipelined buffer of the loop just
// around it is fused with that (Fig. 3d): its first loads go before the outer loop, and it never
// drains in between.
#pragma once

#include <string>
#include <vector>

#include "schedule/detect.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

// A load-use loop that pipelined() transforms. Buffers that share a loop and a scope are one
// pipeline.
struct Pipeline {
  std::string name;                  // "shared@ko", in its acquire, commit, wait and release
  std::vector<std::string> buffers;  // filled together
  std::string loop;
  int stages = 2;
  std::string outer;  // the pipeline it is fused with; "": none
};
// Throws Error with the refusal if a rule of detect.h is broken, and if a statement both loads and
// writes other buffers.
[[nodiscard]] std::vector<Pipeline> analyse_pipelines(const LoopProgram& program,
                                                      const AsyncCopies& machine = {});

// The pipelined program; unchanged without buffers of two or more stages.
[[nodiscard]] LoopProgram pipelined(const LoopProgram& program, const AsyncCopies& machine = {});

}  // namespace tilecast::schedule
