// The steps of a scheduler, applied to loops one at a time.
//
//   Schedule s(read_loops(kernel));
//   s.tile({{"i", 64}, {"j", 64}, {"k", 32}});            // io jo ko ii ji ki
//   s.cache_write("jo", "c", Scope::kRegister);           // c.register, cleared in jo
//   s.cache_read("ko", "a", Scope::kShared);              // a.shared, filled in ko
//   s.pipeline("a.shared", 3);
//   LoopProgram code = pipelined(s.program());            // pipeline.h
//
// Order (ALCOP, MLSys 2023, II-B): cache reads and tiling before pipelining, inlining after it. A
// step that a pipeline forbids, or that does not fit the loops, throws Error with the reason and
// changes nothing. Steps preserve the result, except that sums are reassociated. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/detect.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

// A dimension of a packed array: index / factor along dimension `dim` of the array or, if `inner`,
// the remainder. Factor 1: the index itself. The factor divides the extent, margins included.
struct LayoutDim {
  std::size_t dim = 0;
  std::int64_t factor = 1;
  bool inner = false;
};
struct Margin {  // elements
  std::int64_t before = 0, behind = 0;
};

class Schedule {
 public:
  explicit Schedule(LoopProgram program, AsyncCopies machine = {})
      : program_(std::move(program)), machine_(machine) {}
  [[nodiscard]] const LoopProgram& program() const { return program_; }

  // Loop x becomes xo, in steps of `factor`, around xi. A smaller last piece is guarded by a bound.
  void split(const std::string& loop, std::int64_t factor);
  // Splits each loop and puts all outer loops around all inner ones, in the given order. The loops
  // must be a perfect nest.
  void tile(const std::vector<std::pair<std::string, std::int64_t>>& factors);
  // Reorders these loops of one perfect nest, outermost first; others keep their place.
  void reorder(const std::vector<std::string>& loops);
  void parallel(const std::string& loop) { mark(loop, LoopKind::kParallel); }
  void unroll(const std::string& loop) { mark(loop, LoopKind::kUnrolled); }
  void vectorize(const std::string& loop) { mark(loop, LoopKind::kVectorized); }

  // Reads of `buffer` in the loop's body use a new buffer, filled by one copy at the body's start.
  // Returns its name, "a.shared". The size of the box must be the same in every iteration.
  std::string cache_read(const std::string& loop, const std::string& buffer, Scope scope);
  // Writes of `buffer` in the loop's body go to a new buffer, copied back at the body's end. It is
  // cleared at the start if the nest that clears `buffer` can move here, else read.
  std::string cache_write(const std::string& loop, const std::string& buffer, Scope scope);
  // Copies the array once, before its first use, into a new one laid out as `layout`, which later
  // reads use. Returns its name, "a.packed". Along dimension d of the array `margin[d]` zeros
  // (none: {}) are added before and behind; sums over products that were guarded against reading
  // there need no guard. The dimensions of the layout must name every element once.
  std::string pack(const std::string& buffer, const std::vector<LayoutDim>& layout,
                   const std::vector<Margin>& margin = {});
  // Orders the dimensions of a temporary in memory, most major first.
  void lay_out(const std::string& buffer, const std::vector<std::size_t>& dims);
  // Pads the rows of a temporary by `elements`, so that threads reading down a column use different
  // banks.
  void pad(const std::string& buffer, std::int64_t elements);
  // Turns three loops around one product and sum of temporaries into a Multiply. A bound is dropped
  // if both factors were padded with zeros, or if the result is left out when copied back.
  void multiply(const std::string& loop);
  // Computes the elementwise nest that is the only reader of a temporary in main memory where boxes
  // of the temporary are copied back (cache_write); removes the temporary.
  void fuse_consumer(const std::string& buffer);
  // Removes the nest that computes a temporary and computes its value at each read. A pipelined
  // copy of the temporary becomes a copy of its source (ALCOP's Fig. 5, case 2).
  void inline_value(const std::string& buffer);
  // Requests `stages` >= 1 stages; refused if detect_pipeline() refuses.
  void pipeline(const std::string& buffer, int stages);

 private:
  void mark(const std::string& loop, LoopKind kind);
  void check_unpipelined(const std::string& loop, const std::string& step) const;
  [[nodiscard]] std::string fresh_name(const std::string& buffer, Scope scope) const;

  LoopProgram program_;
  AsyncCopies machine_;
};

}  // namespace tilecast::schedule
