// Writes a loop program as C for the host.
//
// An asynchronous copy becomes a synchronous copy plus software prefetches of the box needed stages
// - 1 iterations later. Pass the program before pipelined() (schedule/pipeline.h): a program that
// waits for batches is refused. Parallel loops run sequentially; a Multiply calls the loops of
// c_prelude.cpp.
//
//   auto result = c_of_loops(schedule.program(), "k17");
//   if (const auto* c = std::get_if<CKernel>(&result)) write(c_prelude() + c->source);
//
// Arrays are laid out as in c_kernel.h. Thread-safe and deterministic.
#pragma once

#include <string>
#include <variant>

#include "host/c_kernel.h"
#include "schedule/loop_program.h"

namespace tilecast::host {

// CKernel::inputs and outputs are left empty: a loop program has no shapes with layouts. `function`
// is a C identifier.
[[nodiscard]] std::variant<CKernel, Unsupported> c_of_loops(const schedule::LoopProgram& program,
                                                            const std::string& function);

}  // namespace tilecast::host
