// Loop programs as text, for people and for files. parse_loops(to_text(p)) is p.
//
//   program matmul
//     input main a f32[512,256]
//     output main c f32[512,384]
//     temporary shared a.shared f32[64,32] stages 3
//   {
//     parallel io < 8 {
//       loop ko < 8 {
//         copy a.shared[0, 0] = a[64 * io, 32 * ko] size 64x32 async
//         ...
//           c.register[i, j] add= multiply.f32(a.shared[i, k], b.shared[k, j]) where 0 <= i < 60
//
// One statement per line; `#` starts a comment. With two lists of brackets, `a.shared[ko % 3][i,
// k]`, the first is the slot. docs/schedules.md has the whole grammar. Thread-safe.
#pragma once

#include <string>

#include "base/source_text.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

[[nodiscard]] std::string to_text(const LoopProgram& program);
[[nodiscard]] std::string to_text(const Access& access);
[[nodiscard]] std::string to_text(const Value& value);

// Throws Error with file, line and column: bad syntax, an unknown or repeated name, a wrong number
// of indices, nesting deeper than 64.
[[nodiscard]] LoopProgram parse_loops(const base::SourceText& source);

}  // namespace tilecast::schedule
