// Peak device memory of a module, from the arrays live in main memory at each point of its
// schedule.
//
//   MemoryUse use = memory_use(module);   // must be scheduled, with device layouts
//   use.peak.total()                      // bytes at the worst point
//   use.live                              // the arrays live there, largest first
//
// Every array has one live interval, from the op that produces it to its last reader. The peak is
// the largest sum of arrays whose intervals overlap. Arguments and constants are always live,
// except that an argument with `input_output_alias` is free after its last use. An output has a
// buffer of its own from start to end, unless it is such an argument's; arrays that fit and are
// read no more when the output is written lie there before, one at a time, the largest first.
// Bitcasts, tuples and tuple elements refer to the arrays of their operands. An op that may write
// in place (ir/memory/buffer_sharing.h) reuses the buffer of an operand that has no later reader.
// Loops hold one copy of their state; state that the body does not change stays in its original
// buffer. Calls, loops and branches add the arrays live inside them while they run. In scheduled
// modules gaps come on top (ir/memory/heap_placement.h). Tuple tables and alignment are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

inline constexpr int kHostMemory = 5;  // memory space S(5): the host's

enum class BufferKind : std::uint8_t { kArgument, kOutput, kTemporary, kConstant };
[[nodiscard]] std::string_view name(BufferKind kind);

struct MemorySplit {  // bytes
  double arguments = 0, outputs = 0, temporaries = 0, constants = 0;
  double gaps = 0;  // between temporaries, where a compiler scheduled the module
  [[nodiscard]] double total() const {
    return arguments + outputs + temporaries + constants + gaps;
  }
  [[nodiscard]] double& of(BufferKind kind);
};

struct LiveBuffer {
  std::string name, computation;  // the producer
  std::size_t leaf = 0;           // of its shape, depth first
  Shape shape;                    // of that leaf
  BufferKind kind = BufferKind::kTemporary;
  double bytes = 0;          // in its layout, padding included
  std::string made_at;       // instruction; empty: live from the start
  std::string last_read_at;  // instruction; empty: live to the end
};

struct MemoryUse {
  MemorySplit peak;              // at the worst point
  MemorySplit whole;             // all arguments, outputs and constants; the rest: as at the peak
  double host = 0;               // bytes in the host's memory at its own worst point
  double aliased = 0;            // bytes of outputs that reuse an argument's buffer
  std::string at;                // the instruction that runs at the peak
  std::vector<LiveBuffer> live;  // at the peak, largest first, then in order of production
  std::size_t unsized = 0;       // arrays of unbounded size, which are not counted
};

// Memory use of the entry computation and everything it runs, on one device. Only arrays in `space`
// are counted. Linear in the number of instructions after inlining and of their tuple leaves.
// Throws Error if calls nest deeper than 256 or inline to more than 4 million instructions.
[[nodiscard]] MemoryUse memory_use(const Module& module, int space = 0);

}  // namespace tilecast::ir
