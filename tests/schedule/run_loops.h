// Runs a loop program on numbers, as strictly as the slowest machine would.
//
// An asynchronous copy of a pipelined buffer lands only when its batch is waited for. An error is:
// reading what has not landed, was never written, or was released; filling a stage that is not
// released; a source that changes under way; leaving a buffer or its stages; waiting for or
// releasing what is not there; batches left at the end. Parallel loops run backwards. Elements are
// doubles, rounded as tests/interpreter does. Thread-safe.
#pragma once

#include <vector>

#include "schedule/loop_program.h"
#include "tests/interpreter/evaluate.h"

namespace tilecast::schedule {

// Inputs and outputs as the buffers with these roles, in order, row-major by dimension. Throws
// Error for everything above.
[[nodiscard]] std::vector<interpreter::Elements> run_loops(
    const LoopProgram& program, const std::vector<interpreter::Elements>& inputs);

}  // namespace tilecast::schedule
