// Data flow of a program: which arrays each launch reads and writes, with tuples, bitcasts and
// other free instructions resolved. Used by make_c_program(). Thread-safe.
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "host/c_kernel.h"
#include "ir/hlo.h"
#include "ir/kernel.h"

namespace tilecast::host {

constexpr std::int64_t kHeapAlignment = 64;  // bytes; applies to the heap and the arrays in it

struct ArrayRef {
  enum class Kind : std::uint8_t { kNothing, kInput, kArray };  // kNothing: a token
  Kind kind = Kind::kNothing;
  std::size_t index = 0;  // into WiredProgram::inputs or arrays
};

// An array written by a launch. Results are in the caller's memory, other arrays in the heap.
struct ProgramArray {
  std::int64_t bytes = 0;
  std::size_t made_by = 0, last_read_by = 0;  // launch indices
  std::optional<std::size_t> result;
};

struct Launch {
  ir::Kernel kernel;
  std::vector<ArrayRef> reads;      // in the order of kernel.parameters()
  std::vector<std::size_t> writes;  // array indices, in the order of kernel.outputs()
};

// An input array: leaf `leaf` of an entry parameter, or a constant.
struct ProgramInput {
  ir::Shape shape;
  ir::InstrId instruction;
  std::size_t leaf = 0;
};

struct WiredProgram {
  std::vector<ProgramInput> inputs;  // all parameters, then the constants that are read
  std::vector<ProgramArray> arrays;
  std::vector<Launch> launches;    // in execution order
  std::vector<ir::Shape> results;  // array leaves of the entry's root instruction
  // Results that alias an input or another result; they are copied at the end.
  std::vector<std::pair<ArrayRef, std::size_t>> copies;
};

[[nodiscard]] std::variant<WiredProgram, Unsupported> wire_program(const ir::Module& module);

// Offsets of arrays in one block, such that arrays in use at the same time do not overlap: first
// fit in launch order. Results get -1.
struct HeapPlan {
  std::vector<std::int64_t> offsets;
  std::int64_t bytes = 0;
};
[[nodiscard]] HeapPlan plan_heap(const WiredProgram& program);

}  // namespace tilecast::host
