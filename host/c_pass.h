// One pass over a kernel's tiles: the tile loops, and the stages that run in each tile.
//
// A stage fills a buffer of the scratchpad with a box of one op. Stages are created backwards from
// the outputs: box() creates the stage of an op after those of its operands. A stage runs again
// only when a tile loop that its box depends on has advanced. Loads are boxes of parameters,
// reached only through moves and conversions. A reduction whose loop is cut keeps its accumulator
// over the pieces; stages that use its result run after the last piece ("late"). Reductions nest: a
// product summed over pieces can itself be a piece of a sum.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/c_function.h"
#include "host/c_labels.h"
#include "host/c_nest.h"
#include "host/c_stage.h"

namespace tilecast::host {

class Pass {
 public:
  Pass(Function& function, const Labels& labels, const analytical::IterationSpace& space,
       std::vector<PassLoop> loops);

  [[nodiscard]] Function& function() { return function_; }
  [[nodiscard]] Symbols& symbols() { return function_.symbols(); }
  [[nodiscard]] const ir::Op& op(ir::OpId id) const { return function_.kernel().op(id); }
  [[nodiscard]] const Labels& labels() const { return labels_; }
  [[nodiscard]] std::vector<PassLoop>& loops() { return loops_; }

  // The current tile's part of `op`: labelled dimensions are cut, the others are whole.
  [[nodiscard]] Box box_of(ir::OpId op) const;
  // The stage that holds this box of the op.
  std::size_t box(ir::OpId op, const Box& box, BoxOrder order = BoxOrder::kAny);
  [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_; }
  Packed pack(const PackSpec& spec);
  // Stores ops of one index space to output arrays over `box`.
  struct Store {
    ir::OpId op;
    std::string name;
    ir::Dims strides;
  };
  void store(const std::vector<Store>& stores, const Box& box);
  // Writes the tile loops around all stages.
  void write(Writer& out) const;

  // Declares that the stage under construction reads `stage`: it inherits its loop dependences.
  const Stage& read(std::size_t stage);
  // Whether the op has its own buffer, so that expressions read it instead of computing it.
  [[nodiscard]] bool has_buffer(ir::OpId op);
  // The cut reduction loop over which an op may split here, else nullptr: operands of a split
  // reduction can only split over loops further in.
  PassLoop* split_loop(int loop);
  // Defines a value that is computed once per tile.
  Index definition(IndexRange range, const std::string& text, std::uint32_t loops);
  Index divided(const Index& value, std::int64_t divisor);  // rounded down

  // --- used by the rules of single ops (c_reduce.cpp, c_matrix.cpp)
  // Starts the stage of a box of the op, which it sums over the cut loops `split`. Everything that
  // it reads is requested before finish().
  [[nodiscard]] Stage begin(ir::OpId op, const std::string& type, const Box& box,
                            const std::vector<const PassLoop*>& split = {});
  std::size_t finish(Stage stage, Writer& code);
  // Call around the requests for operands of a reduction that is split over these loops.
  void enter_split(const std::vector<const PassLoop*>& loops);
  void leave_split() { split_levels_.pop_back(); }
  [[nodiscard]] const analytical::IterationSpace& space() const { return space_; }
  // C condition that is true in the first tile of these loops.
  [[nodiscard]] std::string first_piece(const std::vector<const PassLoop*>& loops) const;

 private:
  struct Frame {
    std::uint32_t loops = 0, late = 0;
  };
  [[nodiscard]] std::string when(const Stage& stage) const;
  std::size_t make_box(ir::OpId op, const Box& box, BoxOrder order);
  Packed make_pack(const PackSpec& spec, ir::OpId root);
  bool find(const std::string& key, std::size_t& stage) const;
  [[nodiscard]] bool worth_a_buffer(ir::OpId op);
  [[nodiscard]] int inline_cost(ir::OpId op);
  void write_piece(const Piece& piece, const Stage& stage, const ir::Dims& strides, Writer& out);
  struct Clamped {
    Index first, count;
    std::int64_t largest;
  };
  Clamped clamp(const Border& border, const BoxDim& box);
  bool covers(const Piece& piece);
  static std::string key(const Box& box);

  Function& function_;
  const Labels& labels_;
  const analytical::IterationSpace& space_;
  std::vector<PassLoop> loops_;
  std::vector<Stage> stages_;
  std::vector<std::string> definitions_;
  std::map<std::string, Index> defined_;
  std::multimap<std::string, std::size_t> boxes_;
  std::map<std::string, Packed> packs_;
  std::vector<Frame> frames_;
  std::vector<int> has_buffer_, costs_;  // by op; -1: not yet known
  std::vector<int> split_levels_{-1};    // positions in loops_, innermost split last
  int buffers_ = 0;
  std::int64_t scratch_ = 0;
};

// Lays out a stage's buffer: dimensions most major first, the last padded to a multiple of `lanes`.
void lay_out(Stage& stage, const Box& box, const ir::Dims& order, std::int64_t lanes = 1);

// Create the stages of ops with their own rules.
std::size_t reduce_stage(Pass& pass, ir::OpId op, const Box& box);
std::size_t reduce_window_stage(Pass& pass, ir::OpId op, const Box& box);
std::size_t dot_stage(Pass& pass, ir::OpId op, const Box& box);
std::size_t convolution_stage(Pass& pass, ir::OpId op, const Box& box);

// Whether `op` only moves and converts one source, so that it can be loaded directly from it.
[[nodiscard]] bool is_load(Pass& pass, ir::OpId op);

}  // namespace tilecast::host
