// Interpreter of loop programs that checks synchronisation strictly.
//
// An asynchronous copy of a pipelined buffer completes only when its batch is waited for. Errors
// are: reading data that has not arrived, was never written, or was released; filling a stage that
// is not released; a source that changes during a copy; accesses outside a buffer or its stages;
// waiting for or releasing a batch that does not exist; and batches left at the end. Parallel loops
// run backwards. Elements are doubles, rounded as in tests/interpreter. Thread-safe.
#pragma once

#include <vector>

#include "schedule/loop_program.h"
#include "tests/interpreter/evaluate.h"

namespace tilecast::schedule {

// Inputs and outputs are the buffers with these roles, in order, row-major by dimension. Throws
// Error for all errors above.
[[nodiscard]] std::vector<interpreter::Elements> run_loops(
    const LoopProgram& program, const std::vector<interpreter::Elements>& inputs);

}  // namespace tilecast::schedule
