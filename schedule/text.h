// Loop programs as text, for people and for models of texts. It says all of the program: a reader
// in tests/schedule gets the same program back.
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
// One statement per line. With two lists of brackets, `a.shared[ko % 3][i, k]`, the first is the
// slot. Thread-safe.
#pragma once

#include <string>

#include "schedule/loop_program.h"

namespace tilecast::schedule {

[[nodiscard]] std::string to_text(const LoopProgram& program);
[[nodiscard]] std::string to_text(const Access& access);
[[nodiscard]] std::string to_text(const Value& value);

}  // namespace tilecast::schedule
