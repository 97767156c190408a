// What a scheduler does to loops, one step at a time.
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
// changes nothing. Steps keep what the program computes, sums reassociated. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/detect.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

// A dimension of a packed array: index / factor along dimension `dim` of the array or, `inner`, the
// rest of it. Factor 1: the index itself. The factor divides the extent, margins included.
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

  // Loop x becomes xo, in steps of `factor`, around xi. The last piece may be smaller: a bound then
  // guards what is computed.
  void split(const std::string& loop, std::int64_t factor);
  // Each is split, all outer loops put around all inner ones, in the given order. The loops are a
  // perfect nest.
  void tile(const std::vector<std::pair<std::string, std::int64_t>>& factors);
  // These loops of one perfect nest, outermost first; others stay where they are.
  void reorder(const std::vector<std::string>& loops);
  void parallel(const std::string& loop) { mark(loop, LoopKind::kParallel); }
  void unroll(const std::string& loop) { mark(loop, LoopKind::kUnrolled); }
  void vectorize(const std::string& loop) { mark(loop, LoopKind::kVectorized); }

  // What the body of the loop reads of `buffer` comes from a new buffer, filled by one copy at the
  // body's start: its name, "a.shared". The box must be the same in every iteration but for where
  // it starts.
  std::string cache_read(const std::string& loop, const std::string& buffer, Scope scope);
  // What the body of the loop writes of `buffer` goes to a new buffer, copied back at the body's
  // end. It is cleared at the start where the nest that clears `buffer` can move here, else read.
  std::string cache_write(const std::string& loop, const std::string& buffer, Scope scope);
  // The array is copied once, at the start, into a new one laid out as `layout` says, which is what
  // is read from then on: its name, "a.packed". Along dimension d of the array `margin[d]` zeros
  // (none: {}) stand before and behind; sums over products that were guarded against reading there
  // need no guard. The dimensions of the layout name every element once.
  std::string pack(const std::string& buffer, const std::vector<LayoutDim>& layout,
                   const std::vector<Margin>& margin = {});
  // Dimensions of a temporary from the most major to the most minor in memory.
  void lay_out(const std::string& buffer, const std::vector<std::size_t>& dims);
  // Rows of a temporary lie `elements` further apart than they are long, so that threads that read
  // down a column meet different banks.
  void pad(const std::string& buffer, std::int64_t elements);
  // The three loops from here on, one product and sum of temporaries, become a Multiply. A bound is
  // dropped where both factors were padded with zeros, or the result is left out when copied back.
  void multiply(const std::string& loop);
  // The elementwise nest that alone reads a temporary in main memory is computed where boxes of it
  // are copied back (cache_write); the temporary goes.
  void fuse_consumer(const std::string& buffer);
  // The nest that computes a temporary goes; where it was read, its value is computed. A pipelined
  // copy of it becomes a copy of what it is computed from (ALCOP's Fig. 5, case 2).
  void inline_value(const std::string& buffer);
  // Asks for `stages` >= 1 stages; refused where detect_pipeline() refuses.
  void pipeline(const std::string& buffer, int stages);

 private:
  void mark(const std::string& loop, LoopKind kind);
  void check_unpipelined(const std::string& loop, const std::string& step) const;
  [[nodiscard]] std::string fresh_name(const std::string& buffer, Scope scope) const;

  LoopProgram program_;
  AsyncCopies machine_;
};

}  // namespace tilecast::schedule
