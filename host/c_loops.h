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

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "schedule/loop_program.h"

namespace tilecast::host {

// CKernel::inputs and outputs are left empty: a loop program has no shapes with layouts. `function`
// is a C identifier.
[[nodiscard]] std::variant<CKernel, Unsupported> c_of_loops(const schedule::LoopProgram& program,
                                                            const std::string& function);

// Indices, places and values of a loop program as C text, shared by the C and CUDA writers. Throws
// Refused (c_function.h) for anything that is not supported. Pure functions; thread-safe.

// A buffer's or loop's name as a C identifier.
[[nodiscard]] std::string c_name(std::string name);
// Divides with C's rounding: loop programs never divide a negative index.
[[nodiscard]] std::string index_text(const schedule::Index& index);
// "i >= 0 && i < 60"; "" without bounds. Bounds that always hold for variables in [0, extent) are
// omitted; without extents none are.
[[nodiscard]] std::string condition_text(const std::vector<schedule::Bound>& where,
                                         const schedule::Extents& extents = {});

// The position along each of these extents when `counter` runs over all of them, innermost last.
[[nodiscard]] std::vector<schedule::Index> split_counter(schedule::Index counter,
                                                         const ir::Dims& extents);

// Elements of one stage, row padding included.
[[nodiscard]] std::int64_t stage_elements(const schedule::Buffer& buffer);
[[nodiscard]] std::int64_t bytes_of_element(ir::DType dtype);  // in memory

// Address in elements from the start of the buffer's stage; `offset`, if given, is added per
// dimension.
[[nodiscard]] schedule::Index address_of(const schedule::Buffer& buffer,
                                         const schedule::Access& access,
                                         const std::vector<schedule::Index>& offset = {});
// Whether an element of a copy's box may be outside the buffer along this dimension. Never if a
// cache is copied from its start.
[[nodiscard]] bool is_clipped(const schedule::Buffer& buffer, const schedule::Access& access,
                              std::size_t dim);
// Bounds that keep an element of a copy's box, `offset` from its first, inside the buffer.
[[nodiscard]] std::vector<schedule::Bound> inside_bounds(
    const schedule::Buffer& buffer, const schedule::Access& access,
    const std::vector<schedule::Index>& offset);

// Returns the value expression (c_scalar.h) of an access.
using ElementText = std::function<std::string(const schedule::Access&)>;
[[nodiscard]] std::string value_text(const schedule::Value& value, const ElementText& element);
// `a` combined with `b`, rounded to the type.
[[nodiscard]] std::string combination_text(ir::Opcode combine, ir::DType dtype,
                                           const std::string& a, const std::string& b);

}  // namespace tilecast::host
