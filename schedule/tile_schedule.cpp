#include "schedule/tile_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "schedule/box.h"
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

// The loops of the nest that computes a buffer, or that sums into it.
std::vector<const Loop*> nest_of(const LoopProgram& program, const std::string& buffer, bool sum) {
  for (const Statement& statement : program.body) {
    const SingleNest nest = single_nest(statement);
    if (nest.assign != nullptr && nest.assign->to.buffer == buffer &&
        nest.assign->combine.has_value() == sum) {
      return nest.loops;
    }
  }
  throw Error(fmt::format("no nest of loops computes {}", buffer));
}

class Tiler {
 public:
  Tiler(const ir::Kernel& kernel, const analytical::TileConfig& tile,
        const hwdesc::NativeTile& native, const AsyncCopies& machine)
      : kernel_(kernel), tile_(tile), native_(native), schedule_(read_loops(kernel), machine) {}

  TiledLoops make() {
    inline_what_comes_before();
    const std::vector<CutLoop> loops = cut_loops();
    std::vector<std::pair<std::string, std::int64_t>> factors;
    for (const CutLoop& loop : loops) factors.emplace_back(loop.variable, loop.step);
    schedule_.tile(factors);
    const auto last = std::find_if(loops.rbegin(), loops.rend(),
                                   [](const CutLoop& loop) { return !loop.reduced; });
    const bool sums = loops.back().reduced;
    if (sums && last != loops.rend()) {
      attempt([&] { schedule_.cache_write(last->variable + "o", target_, Scope::kRegister); });
    }
    for (const std::string& buffer : read_buffers(loops.back().variable + "o")) {
      attempt([&] {
        const std::string cached =
            schedule_.cache_read(loops.back().variable + "o", buffer, Scope::kShared);
        if (tile_.stages > 1) schedule_.pipeline(cached, tile_.stages);
      });
    }
    if (product_ && loops.size() >= 3) {
      attempt([&] { schedule_.multiply(loops[loops.size() - 3].variable + "i"); });
    }
    return {schedule_.program(), std::move(refusals_)};
  }

 private:
  template <class Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (const Error& refused) {
      refusals_.emplace_back(refused.what());
    }
  }

  void inline_what_comes_before() {
    for (const Buffer& buffer : std::vector<Buffer>(schedule_.program().buffers)) {
      if (buffer.role != Role::kTemporary) continue;
      try {
        schedule_.inline_value(buffer.name);
      } catch (const Error&) {  // a sum: it keeps its nest
      }
    }
  }

  std::vector<CutLoop> cut_loops() {
    const IterationSpace space = analytical::make_iteration_space(kernel_, native_);
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
  const hwdesc::NativeTile& native_;
  Schedule schedule_;
  std::string target_;  // what the tiled nest writes
  bool product_ = false;
  std::vector<std::string> refusals_;
};

}  // namespace

TiledLoops tiled_loops(const ir::Kernel& kernel, const analytical::TileConfig& tile,
                       const hwdesc::NativeTile& native, const AsyncCopies& machine) {
  const IterationSpace space = analytical::make_iteration_space(kernel, native);
  if (space.matrix && kernel.op(space.anchor).opcode == ir::Opcode::kConvolution) {
    return convolution_loops(kernel, tile, machine);
  }
  return Tiler(kernel, tile, native, machine).make();
}

}  // namespace tilecast::schedule
