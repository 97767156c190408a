// The plain loops of a kernel: one nest per op, every result in main memory, nothing tiled.
//
//   LoopProgram loops = read_loops(kernel);
//   // loop i < 512 { loop j < 384 { c[i, j] = 0:f32 } }
//   // loop i.sum < 512 { loop j.sum < 384 { loop k < 256 { c[i.sum, j.sum] add= ... } } }
//
// Supported: elementwise ops, constants of one value, broadcast, transpose, slice, reverse, reshape
// and bitcast of row-major arrays, dot, convolution without input dilation, reduce by one op. Sums
// of bf16 and f16 are kept in f32 and rounded once. Thread-safe.
#pragma once

#include "ir/kernel.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

// Throws Error for other kernels: "%sort: sort has no loop nest yet".
[[nodiscard]] LoopProgram read_loops(const ir::Kernel& kernel);

// Name of the buffer of an op's result. Constants have no buffer.
[[nodiscard]] std::string buffer_name(const ir::Kernel& kernel, ir::OpId op);

}  // namespace tilecast::schedule
