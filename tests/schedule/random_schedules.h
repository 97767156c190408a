// Random kernels with random schedules. Deterministic for a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "schedule/loop_program.h"
#include "tests/interpreter/evaluate.h"

namespace tilecast::schedule {

struct RandomSchedule {
  ir::Kernel kernel;
  LoopProgram program;                // scheduled, with requested stages, before pipelining
  std::vector<std::string> refusals;  // messages of steps that were refused
  int pipelined = 0;                  // buffers with stages
};
// A product, a batch of products, a convolution, a row sum or an elementwise chain of odd sizes;
// tiles of one or two levels, caches in random loops, 2 to 5 stages.
[[nodiscard]] RandomSchedule random_schedule(std::uint64_t seed);
// A convolution with one window, in one of two orders of dimensions, with one of the tiles of
// schedule/convolution.h that uses all options of a tile. Only stages can be refused.
[[nodiscard]] RandomSchedule random_convolution(std::uint64_t seed);
// Small whole numbers: sums are exact in any order.
[[nodiscard]] std::vector<interpreter::Elements> whole_inputs(const ir::Kernel& kernel,
                                                              std::uint64_t seed);

}  // namespace tilecast::schedule
