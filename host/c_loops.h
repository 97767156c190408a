// A loop program as C for this machine.
//
// An asynchronous copy becomes what a CPU has: software prefetches of the box that the copy will
// need stages - 1 iterations later, and the copy itself where it stands. So the program is the one
// before pipelined() (schedule/pipeline.h); one with batches to wait for is refused. Parallel loops
// run one after the other; a Multiply calls the loops of c_prelude_matrix.cpp.
//
//   auto made = c_of_loops(schedule.program(), "k17");
//   if (const auto* c = std::get_if<CKernel>(&made)) write(c_prelude() + c->source);
//
// Arrays are as c_kernel.h says. Thread-safe; same program, same text.
#pragma once

#include <string>
#include <variant>

#include "host/c_kernel.h"
#include "schedule/loop_program.h"

namespace tilecast::host {

// CKernel::inputs and outputs are left empty: a loop program knows no shapes with layouts.
// `function` is a C identifier.
[[nodiscard]] std::variant<CKernel, Unsupported> c_of_loops(const schedule::LoopProgram& program,
                                                            const std::string& function);

}  // namespace tilecast::host
