// A kernel as scheduled loops: copies, computations and their order.
//
// read_loops() (from_kernel.h) builds it; a Schedule (primitives.h) or a tile (tile_schedule.h)
// transforms it; pipelined() (pipeline.h) spreads copies over iterations;
// host/c_loops.h and host/cuda_loops.h write it as C and CUDA C++; tree.h shows it to learned
// models. host/c_kernel.h writes plain C without it.
//
// Buffers are in a scope: main memory (HBM, DRAM), shared (a scratchpad, a GPU's shared memory, a
// cache), registers. Indices count elements per dimension, first dimension first. A buffer with
// stages holds that many copies of its box; an access selects one by its slot. Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/op.h"
#include "ir/shape.h"
#include "schedule/index.h"

namespace tilecast::schedule {

enum class Scope : std::uint8_t { kMain, kShared, kRegister };
enum class Role : std::uint8_t { kInput, kOutput, kTemporary };

struct Buffer {
  std::string name;
  ir::DType dtype = ir::DType::kF32;
  ir::Dims dims;
  ir::Dims strides;  // elements, per dimension; {}: row-major
  Scope scope = Scope::kMain;
  Role role = Role::kTemporary;
  int stages = 1;  // to pipeline with; once pipelined, copies of the box
};

struct Access {  // an element, or the first of a box
  std::string buffer;
  std::optional<Index> slot;  // stage of a pipelined buffer
  std::vector<Index> at;      // per dimension
};

struct Value {
  enum class Kind : std::uint8_t { kNumber, kRead, kApply };
  Kind kind = Kind::kNumber;
  double number = 0;
  Access read;
  ir::Opcode opcode = ir::Opcode::kCopy;  // elementwise, with one to three operands
  ir::DType dtype = ir::DType::kF32;      // of the result
  std::string direction;                  // of a comparison: "LT"
  std::vector<Value> operands;

  static Value of(double number, ir::DType dtype);
  static Value of(Access read, ir::DType dtype);
  static Value apply(ir::Opcode opcode, ir::DType dtype, std::vector<Value> operands);
};

struct Bound {  // 0 <= index < limit
  Index index;
  std::int64_t limit = 0;
};

// to = value, or to = combine(to, value); skipped if a bound does not hold.
struct Assign {
  Access to;
  Value value;
  std::optional<ir::Opcode> combine;
  std::vector<Bound> where;
};

// Copies a box between buffers. `padded`: elements outside the source are zeros, elements outside
// the target are skipped; otherwise both boxes are inside.
struct Copy {
  Access to, from;
  ir::Dims extents;
  bool async = false;
  bool padded = false;
};

// c[i][j] += sum over p of a[i][p] * b[p][j], on boxes of the last two dimensions: a matrix unit.
struct Multiply {
  Access c, a, b;
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// Synchronises asynchronous copies; a batch is the copies between acquire and commit.
struct Sync {
  enum class Kind : std::uint8_t {
    kProducerAcquire,  // waits until a stage is free
    kProducerCommit,   // ends a batch
    kConsumerWait,     // waits for the oldest batch not yet waited for
    kConsumerRelease   // allows overwriting the oldest batch not yet released
  };
  Kind kind = Kind::kProducerAcquire;
  std::string pipeline;
};

struct Statement;
using Body = std::vector<Statement>;

struct Guard {
  std::vector<Bound> where;
  Body body;
};

enum class LoopKind : std::uint8_t { kSequential, kParallel, kUnrolled, kVectorized };
struct Loop {  // variable = 0, 1, ... extent - 1
  std::string variable;
  std::int64_t extent = 1;
  LoopKind kind = LoopKind::kSequential;
  Body body;
};

struct Statement {
  std::variant<Loop, Assign, Copy, Multiply, Sync, Guard> is;

  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&is);
  }
  template <class T>
  [[nodiscard]] T* get() {
    return std::get_if<T>(&is);
  }
  // The body of a loop or guard, else null.
  [[nodiscard]] const Body* body() const;
  [[nodiscard]] Body* body();
};

struct LoopProgram {
  std::string name;
  std::vector<Buffer> buffers;  // inputs and outputs in the kernel's order, then temporaries
  Body body;

  [[nodiscard]] const Buffer* find(std::string_view buffer) const;
  [[nodiscard]] Buffer& buffer(std::string_view buffer);  // throws Error
  [[nodiscard]] const Buffer& buffer(std::string_view buffer) const;
};

// Strides of one stage, per dimension: the stated ones, else row-major.
[[nodiscard]] ir::Dims strides(const Buffer& buffer);
[[nodiscard]] std::int64_t elements(const Buffer& buffer);  // per stage

[[nodiscard]] std::string_view name(Scope scope);      // "main", "shared", "register"
[[nodiscard]] std::string_view name(LoopKind kind);    // "loop", "parallel", "unroll", "vector"
[[nodiscard]] std::string_view name(Sync::Kind kind);  // "producer_acquire", ...

}  // namespace tilecast::schedule
