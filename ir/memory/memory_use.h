// Peak device memory of a module: what lies in main memory at each point of its schedule.
//
//   MemoryUse use = memory_use(module);   // scheduled, shapes in the device's layouts
//   use.peak.total()                      // bytes at the worst point
//   use.live                              // what fills them, largest first
//
// Every array has one interval, from the op that makes it to the last that reads it; the peak is
// the largest sum of arrays whose intervals meet. Arguments and constants lie there all the time,
// except that an argument with `input_output_alias` gives its place away after its last use; an
// output stays from where it is made. Bitcasts, tuples and elements name the arrays of their
// operands. An op that may write where it reads (ir/memory/buffer_sharing.h) takes the place of an
// operand that nothing reads later. Loops carry one copy of a state, and state that the body hands
// on unread or only read stays where it was. Calls, loops and branches contribute what they hold
// where they run. This is a lower bound of any allocator that keeps this order: fragmentation, the
// tables of tuples and alignment come on top (XLA: buffer assignment, heap simulator).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

enum class BufferKind : std::uint8_t { kArgument, kOutput, kTemporary, kConstant };
[[nodiscard]] std::string_view name(BufferKind kind);

struct MemorySplit {  // bytes
  double arguments = 0, outputs = 0, temporaries = 0, constants = 0;
  [[nodiscard]] double total() const { return arguments + outputs + temporaries + constants; }
  [[nodiscard]] double& of(BufferKind kind);
};

struct LiveBuffer {
  std::string name, computation;  // the instruction that makes it
  std::size_t leaf = 0;           // of its shape, depth first
  Shape shape;                    // of that leaf
  BufferKind kind = BufferKind::kTemporary;
  double bytes = 0;          // in its layout, padding included
  std::string made_at;       // instruction; empty: there from the start
  std::string last_read_at;  // instruction; empty: there to the end
};

struct MemoryUse {
  MemorySplit peak;    // at the worst point
  MemorySplit whole;   // all arguments, outputs and constants; temporaries: as at the peak
  double aliased = 0;  // of the outputs, bytes that take an argument's place
  std::string at;      // instruction that runs at the peak
  std::vector<LiveBuffer> live;  // at the peak, largest first, then in the order they are made
  std::size_t unsized = 0;       // arrays of unbounded size, which count nothing
};

// Of the entry computation and all it runs, on one device. Other memory spaces than `space` count
// nothing. Linear in the instructions once calls are inlined, and in the leaves of their tuples.
// Throws Error where calls nest deeper than 256 or inline to more than 4 million instructions.
[[nodiscard]] MemoryUse memory_use(const Module& module, int space = 0);

}  // namespace tilecast::ir
