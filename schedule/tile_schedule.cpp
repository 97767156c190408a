#include "schedule/tile_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "schedule/convolution.h"
#include "schedule/from_kernel.h"
#include "schedule/primitives.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using analytical::IterationSpace;
using ir::OpId;

struct CutLoop {
  std::string variable;
  std::int64_t step = 1;
  bool reduced = false;
};

class Tiler {
 public:
  Tiler(const ir::Kernel& kernel, const analytical::TileConfig& tile, const TileTarget& target)
      : kernel_(kernel),
        tile_(tile),
        target_machine_(target),
        schedule_(read_loops(kernel), target.copies) {
    if (target.warps > 0) block_ = thread_block(tile, target.warps);
  }

  TiledLoops make() {
    inline_what_comes_before();
    loops_ = cut_loops();
    const Schedule uncut = schedule_;
    cut(block_.has_value());
    // Register slices serve a matrix unit; other sums belong to one thread each.
    if (!sliced_.empty() && !multiplied_) {
      schedule_ = uncut;
      sliced_.clear();
      shared_.clear();
      refusals_.clear();
      cut(false);
    }
    return {schedule_.program(), std::move(refusals_), block_.value_or(ThreadBlock{})};
  }

 private:
  void cut(bool in_slices) {
    std::vector<std::pair<std::string, std::int64_t>> factors;
    for (const CutLoop& loop : loops_) factors.emplace_back(loop.variable, loop.step);
    schedule_.tile(factors);
    const auto last = std::find_if(loops_.rbegin(), loops_.rend(),
                                   [](const CutLoop& loop) { return !loop.reduced; });
    const bool sums = loops_.back().reduced;
    if (block_) {
      for (const CutLoop& loop : loops_) {
        if (!loop.reduced) schedule_.parallel(loop.variable + "o");
      }
    }
    if (in_slices && sums && product_) attempt([&] { slice(); });
    if (sums && last != loops_.rend()) {
      attempt([&] { schedule_.cache_write(last->variable + "o", target_, Scope::kRegister); });
    }
    if (block_ && tile_.direct) refusals_.emplace_back("direct: operands are copied all the same");
    if (!block_ || sums) read_through_caches();
    if (product_ && loops_.size() >= 3) {
      attempt([&] {
        schedule_.multiply(loops_[loops_.size() - 3].variable + "i");
        multiplied_ = true;
      });
    }
    if (block_ && sums && schedule_.program().buffer(target_).role == Role::kTemporary) {
      attempt([&] { schedule_.fuse_consumer(target_); });
    }
  }

  template <class Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (const Error& refused) {
      refusals_.emplace_back(refused.what());
    }
  }

  // Splits the tile's depth into slices that fit registers, as a loop of its own.
  void slice() {
    const CutLoop& depth = loops_.back();
    if (loops_.size() < 3 || loops_[loops_.size() - 2].reduced) return;
    const std::string rows = loops_[loops_.size() - 3].variable + "i";
    const std::string columns = loops_[loops_.size() - 2].variable + "i";
    LoopProgram program = schedule_.program();
    const auto extent = [&](const std::string& loop) {
      return find_loop(program, loop).loop().extent;
    };
    const std::int64_t deep = extent(depth.variable + "i");
    bool halves = true;
    for (const std::string& buffer : read_buffers(depth.variable + "o")) {
      const ir::DType dtype = program.buffer(buffer).dtype;
      halves = halves && (dtype == ir::DType::kF16 || dtype == ir::DType::kBF16);
    }
    const bool unit = halves && warps_over(extent(rows), extent(columns), deep, *block_);
    schedule_.split(depth.variable + "i", unit ? kFragment : 1);
    sliced_ = depth.variable + "io";
    schedule_.reorder({sliced_, rows, columns, depth.variable + "ii"});
  }

  void read_through_caches() {
    constexpr int kRegisterStages = 2;
    constexpr std::int64_t kBankBytes = 16;
    const std::string copied = loops_.back().variable + "o";
    for (const std::string& buffer : read_buffers(copied)) {
      attempt([&] {
        const std::string cached = schedule_.cache_read(copied, buffer, Scope::kShared);
        const Buffer shared = schedule_.program().buffer(cached);
        if (!sliced_.empty() && shared.dims.size() >= 2) {
          schedule_.pad(cached, kBankBytes / std::max<std::int64_t>(ir::bits(shared.dtype) / 8, 1));
        }
        shared_.push_back(cached);
        if (tile_.stages > 1) schedule_.pipeline(cached, tile_.stages);
      });
    }
    if (sliced_.empty()) return;
    for (const std::string& buffer : shared_) {
      attempt([&] {
        const std::string held = schedule_.cache_read(sliced_, buffer, Scope::kRegister);
        LoopProgram program = schedule_.program();
        const std::int64_t slices = find_loop(program, sliced_).loop().extent;
        // Registers are named, not indexed: the stage must be known when the loop is unrolled.
        if (slices % kRegisterStages == 0) schedule_.pipeline(held, kRegisterStages);
      });
    }
  }

  void inline_what_comes_before() {
    for (const Buffer& buffer : std::vector<Buffer>(schedule_.program().buffers)) {
      if (buffer.role != Role::kTemporary) continue;
      try {
        schedule_.inline_value(buffer.name);
      } catch (const Error&) {  // a sum keeps its nest
      }
    }
  }

  std::vector<CutLoop> cut_loops() {
    const IterationSpace space = analytical::make_iteration_space(kernel_, target_machine_.native);
    const std::string mismatch = analytical::tile_mismatch(tile_, analytical::full_tile(space));
    if (!mismatch.empty()) throw Error(mismatch);
    const analytical::LoopSizes extents = analytical::tile_extents(space, tile_);
    const auto step = [&](int loop) { return extents[static_cast<std::size_t>(loop)]; };
    OpId anchor = space.anchor;
    std::vector<CutLoop> made;
    if (space.matrix) {
      product_ = true;
      const std::vector<const Loop*> loops = sum_loops(anchor);
      for (std::size_t d = 0; d < space.anchor_loops.size(); ++d) {
        made.push_back({loops[d]->variable, step(space.anchor_loops[d]), false});
      }
      for (std::size_t i = 0; i < space.matrix->contraction.size(); ++i) {
        made.push_back({loops[space.anchor_loops.size() + i]->variable,
                        step(space.matrix->contraction[i]), true});
      }
      return made;
    }
    target_ = buffer_name(kernel_, anchor);
    if (const auto users = kernel_.users(anchor);
        users.size() == 1 && kernel_.op(users[0]).opcode == ir::Opcode::kReduce) {
      const ir::Op& reduce = kernel_.op(users[0]);
      const std::vector<const Loop*> loops = sum_loops(users[0]);
      std::size_t kept = 0, reduced = reduce.shape.dims.size();
      std::vector<CutLoop> sums;
      for (std::size_t d = 0; d < space.anchor_loops.size(); ++d) {
        const bool sum = std::find(reduce.dimensions.begin(), reduce.dimensions.end(),
                                   static_cast<std::int64_t>(d)) != reduce.dimensions.end();
        const CutLoop cut{loops[sum ? reduced++ : kept++]->variable, step(space.anchor_loops[d]),
                          sum};
        (sum ? sums : made).push_back(cut);
      }
      made.insert(made.end(), sums.begin(), sums.end());
      return made;
    }
    const std::vector<const Loop*> loops = nest_of(schedule_.program(), target_, false);
    for (std::size_t d = 0; d < space.anchor_loops.size(); ++d) {
      made.push_back({loops[d]->variable, step(space.anchor_loops[d]), false});
    }
    if (made.empty()) throw Error("a scalar has no loops to tile");
    return made;
  }

  std::vector<const Loop*> sum_loops(OpId op) {
    target_ = buffer_name(kernel_, op);
    if (schedule_.program().find(target_ + ".sum") != nullptr) target_ += ".sum";
    return nest_of(schedule_.program(), target_, true);
  }

  std::vector<std::string> read_buffers(const std::string& loop) {
    LoopProgram program = schedule_.program();
    std::vector<std::string> made;
    for_each_access(find_loop(program, loop).loop().body, [&](const Access& access, Use use) {
      const Buffer& buffer = program.buffer(access.buffer);
      const bool cached = buffer.scope != Scope::kMain || access.at.empty();
      if (use != Use::kRead || cached || access.buffer == target_) return;
      if (std::find(made.begin(), made.end(), access.buffer) == made.end()) {
        made.push_back(access.buffer);
      }
    });
    return made;
  }

  const ir::Kernel& kernel_;
  const analytical::TileConfig& tile_;
  const TileTarget& target_machine_;
  Schedule schedule_;
  std::optional<ThreadBlock> block_;
  std::vector<CutLoop> loops_;
  std::string sliced_;               // the loop over slices of a product's depth
  std::vector<std::string> shared_;  // buffers its operands are read from
  std::string target_;               // buffer that the tiled nest writes
  bool product_ = false, multiplied_ = false;
  std::vector<std::string> refusals_;
};

}  // namespace

TileTarget target_of(const hwdesc::Device& device) {
  const bool blocks = device.execution == hwdesc::Execution::kSimt;
  return {.native = device.native_tile,
          .copies = {},
          .warps = blocks ? device.multiplexing.warps_per_block : 0};
}

TiledLoops tiled_loops(const ir::Kernel& kernel, const analytical::TileConfig& tile,
                       const TileTarget& target) {
  const IterationSpace space = analytical::make_iteration_space(kernel, target.native);
  if (space.matrix && kernel.op(space.anchor).opcode == ir::Opcode::kConvolution) {
    if (target.warps > 0) throw Error("a convolution has no schedule for blocks of threads yet");
    return convolution_loops(kernel, tile, target.copies);
  }
  return Tiler(kernel, tile, target).make();
}

LoopProgram loops_of(const ir::Kernel& kernel, const analytical::TileConfig* tile,
                     const TileTarget& target) {
  if (tile == nullptr || *tile == analytical::TileConfig{}) return read_loops(kernel);
  return tiled_loops(kernel, *tile, target).program;
}

}  // namespace tilecast::schedule
