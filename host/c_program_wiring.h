// Which launch of a program reads and writes which array: a module without its free instructions.
// A part of make_c_program(); thread-safe.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::host {

constexpr std::int64_t kHeapAlignment = 64;  // of the heap and of arrays in it, bytes

struct ArrayRef {
  enum class Kind : std::uint8_t { kNothing, kInput, kArray };  // nothing: a token
  Kind kind = Kind::kNothing;
  std::size_t index = 0;  // into WiredProgram::inputs or arrays
};

// An array that a launch makes. A result lies in memory of the caller, others in the heap.
struct ProgramArray {
  std::int64_t bytes = 0;
  std::size_t made_by = 0, last_read_by = 0;  // launches
  std::optional<std::size_t> result;
};

struct Launch {
  ir::Kernel kernel;
  std::vector<ArrayRef> reads;      // as kernel.parameters()
  std::vector<std::size_t> writes;  // arrays, as kernel.outputs()
};

// An array the program is given: leaf `leaf` of an entry parameter, or a constant.
struct ProgramInput {
  ir::Shape shape;
  ir::InstrId instruction;
  std::size_t leaf = 0;
};

struct WiredProgram {
  std::vector<ProgramInput> inputs;  // all parameters, then the constants that are read
  std::vector<ProgramArray> arrays;
  std::vector<Launch> launches;    // in the order they run
  std::vector<ir::Shape> results;  // array leaves of the entry's root
  // Results that are inputs, or other results: copied at the end.
  std::vector<std::pair<ArrayRef, std::size_t>> copies;
};

[[nodiscard]] std::variant<WiredProgram, Unsupported> wire_program(const ir::Module& module);

// Offsets in one block, by array, so that arrays in use at the same time do not overlap: in the
// order of launches, each at the lowest free place that holds it. Results get -1.
struct HeapPlan {
  std::vector<std::int64_t> offsets;
  std::int64_t bytes = 0;
};
[[nodiscard]] HeapPlan plan_heap(const WiredProgram& program);

}  // namespace tilecast::host
