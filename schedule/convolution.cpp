#include "schedule/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "schedule/from_kernel.h"
#include "schedule/primitives.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using analytical::IterationSpace;
using analytical::TileConfig;

std::size_t place(std::int64_t dim) {
  return static_cast<std::size_t>(dim);
}

// The kernel's only convolution, of two parameters; throws for other kernels.
const ir::Op& plain_convolution(const ir::Kernel& kernel) {
  const auto& outputs = kernel.outputs();
  const ir::Op& op = kernel.op(outputs.front());
  const bool plain = outputs.size() == 1 && op.opcode == ir::Opcode::kConvolution &&
                     std::all_of(op.operands.begin(), op.operands.end(), [&](ir::OpId operand) {
                       return kernel.op(operand).opcode == ir::Opcode::kParameter;
                     });
  if (!plain) throw Error("only a convolution of two parameters has a schedule by tile");
  return op;
}

// A loop and the extents of its tile.
struct CutDim {
  std::string variable;
  std::int64_t extent = 1, step = 1;
  [[nodiscard]] std::string outer() const { return variable + "o"; }
  [[nodiscard]] std::string inner() const { return variable + "i"; }
};

class ConvolutionTiler {
 public:
  ConvolutionTiler(const ir::Kernel& kernel, const TileConfig& tile, const AsyncCopies& machine)
      : op_(plain_convolution(kernel)),
        dims_(op_.as<ir::ConvAttrs>().dims),
        window_(op_.as<ir::ConvAttrs>().window),
        tile_(tile),
        schedule_(read_loops(kernel), machine) {
    image_ = buffer_name(kernel, op_.operands[0]);
    weights_ = weights_read_ = buffer_name(kernel, op_.operands[1]);
    cut(kernel);
  }

  TiledLoops make() {
    for (const CutDim& dim : outputs_) schedule_.split(dim.variable, dim.step);
    schedule_.split(feature_.variable, feature_.step);
    schedule_.reorder(loop_order());
    if (!tile_.direct) pack();
    std::vector<std::string> refusals;
    if (tile_.stages > 1) {
      const Schedule before = schedule_;
      try {
        const std::string cached =
            schedule_.cache_read(feature_.outer(), weights_read_, Scope::kShared);
        schedule_.pipeline(cached, tile_.stages);
      } catch (const Error& refused) {
        schedule_ = before;
        refusals.emplace_back(refused.what());
      }
    }
    const std::string sums = schedule_.cache_write(innermost_output_, target_, Scope::kRegister);
    std::vector<std::size_t> layout;
    for (std::size_t d = 0; d < outputs_.size(); ++d) {
      if (d != features_) layout.push_back(d);
    }
    layout.push_back(features_);
    schedule_.lay_out(sums, layout);
    for (std::size_t d = 0; d < outputs_.size(); ++d) {
      d == features_ ? schedule_.vectorize(outputs_[d].inner())
                     : schedule_.unroll(outputs_[d].inner());
    }
    if (taps_inside()) schedule_.unroll(taps_.back());
    return {schedule_.program(), std::move(refusals)};
  }

 private:
  [[nodiscard]] bool taps_inside() const { return tile_.unroll > 1; }

  void cut(const ir::Kernel& kernel) {
    const IterationSpace space = analytical::make_iteration_space(kernel, {.tiled = false});
    const TileConfig full = analytical::full_tile(space);
    if (const std::string wrong = analytical::tile_mismatch(tile_, full); !wrong.empty()) {
      throw Error(wrong);
    }
    const analytical::LoopSizes steps = analytical::tile_extents(space, tile_);
    // Buffers of bf16 and f16 sum in f32 (from_kernel.h).
    target_ = buffer_name(kernel, kernel.outputs().front());
    if (schedule_.program().find(target_ + ".sum") != nullptr) target_ += ".sum";
    const std::vector<const Loop*> loops = nest_of(schedule_.program(), target_, true);
    const std::size_t rank = op_.shape.dims.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const int loop = space.anchor_loops[d];
      outputs_.push_back(cut_dim(*loops[d], steps[place(loop)]));
      slots_.push_back(space.loops[place(loop)].slot);
    }
    features_ = place(dims_.output_feature);
    if (!space.matrix || space.matrix->contraction.empty()) throw Error("it contracts nothing");
    feature_ = cut_dim(*loops[rank], steps[place(space.matrix->contraction.front())]);
    for (std::size_t w = 0; w < window_.size(); ++w) {
      taps_.push_back(loops[rank + 1 + w]->variable);
    }
    for (const int position : space.matrix->positions) {
      if (steps[place(position)] != space.loops[place(position)].size) {
        throw Error("a tile of this schedule holds the whole window");
      }
    }
    if (taps_.empty() && taps_inside()) throw Error("it has no window to write out");
    if (taps_inside() && tile_.unroll != window_.back().size) {
      throw Error(fmt::format("unroll: got {}, expected 1 or the window's {} columns", tile_.unroll,
                              window_.back().size));
    }
  }
  [[nodiscard]] static CutDim cut_dim(const Loop& loop, std::int64_t step) {
    if (loop.extent % step != 0) {
      throw Error(fmt::format("a tile of {} does not divide {}", step, loop.extent));
    }
    return {loop.variable, loop.extent, step};
  }
  std::vector<std::string> loop_order() {
    std::vector<std::size_t> outer(outputs_.size());
    std::iota(outer.begin(), outer.end(), std::size_t{0});
    if (tile_.order.empty()) {  // output features before rows and columns: weights stay in cache
      const auto batch = outer.begin() + 1;
      std::rotate(batch, std::find(outer.begin(), outer.end(), features_),
                  std::find(outer.begin(), outer.end(), features_) + 1);
    } else {
      const auto rank_of = [&](std::size_t d) {
        return std::find(tile_.order.begin(), tile_.order.end(), slots_[d] + 1);
      };
      std::sort(outer.begin(), outer.end(),
                [&](std::size_t a, std::size_t b) { return rank_of(a) < rank_of(b); });
    }
    std::vector<std::string> order;
    for (const std::size_t d : outer) order.push_back(outputs_[d].outer());
    innermost_output_ = order.back();
    order.push_back(feature_.outer());
    order.insert(order.end(), taps_.begin(), taps_.end() - (taps_inside() ? 1 : 0));
    order.push_back(feature_.inner());
    if (taps_inside()) order.push_back(taps_.back());
    for (std::size_t d = 0; d < outputs_.size(); ++d) {
      if (d != features_) order.push_back(outputs_[d].inner());
    }
    order.push_back(outputs_[features_].inner());
    return order;
  }

  void pack() {
    const std::int64_t block = feature_.step;
    const std::size_t in_feature = place(dims_.input_feature);
    std::vector<LayoutDim> image{{place(dims_.input_batch)}, {in_feature, block}};
    std::vector<Margin> margin(op_.shape.dims.size());
    const Buffer& array = schedule_.program().buffer(image_);
    for (std::size_t w = 0; w < window_.size(); ++w) {
      const std::size_t dim = place(dims_.input_spatial[w]);
      image.push_back({dim});
      const ir::WindowDim& window = window_[w];
      const std::int64_t pixels = op_.shape.dims[place(dims_.output_spatial[w])];
      const std::int64_t last = (pixels - 1) * window.stride - window.pad_low +
                                (window.size - 1) * window.window_dilation;
      margin[dim] = {std::max<std::int64_t>(window.pad_low, 0),
                     std::max<std::int64_t>(last - array.dims[dim] + 1, 0)};
    }
    image.push_back({in_feature, block, true});
    schedule_.pack(image_, image, margin);

    const std::size_t in = place(dims_.kernel_input_feature);
    const std::size_t out = place(dims_.kernel_output_feature);
    std::vector<LayoutDim> weights{{out, outputs_[features_].step}, {in, block}};
    for (std::size_t w = 0; w < window_.size(); ++w) {
      weights.push_back({place(dims_.kernel_spatial[w])});
    }
    weights.push_back({in, block, true});
    weights.push_back({out, outputs_[features_].step, true});
    weights_read_ = schedule_.pack(weights_, weights);
  }

  const ir::Op& op_;
  const ir::ConvDims& dims_;
  const ir::Window& window_;
  const TileConfig& tile_;
  Schedule schedule_;
  std::string image_, weights_, weights_read_, target_, innermost_output_;
  std::vector<CutDim> outputs_;  // by dimension of the output
  std::vector<int> slots_;       // their slots in a tile's `output`
  std::size_t features_ = 0;     // index of the output features
  CutDim feature_;               // input features
  std::vector<std::string> taps_;
};

std::vector<std::int64_t> divisors(std::int64_t size, std::int64_t most) {
  std::vector<std::int64_t> made;
  for (std::int64_t d = 1; d <= std::min(size, most); ++d) {
    if (size % d == 0) made.push_back(d);
  }
  return made;
}

}  // namespace

TiledLoops convolution_loops(const ir::Kernel& kernel, const TileConfig& tile,
                             const AsyncCopies& machine) {
  return ConvolutionTiler(kernel, tile, machine).make();
}

std::vector<TileConfig> convolution_tiles(const ir::Kernel& kernel) {
  constexpr std::int64_t kMostColumns = 64, kWhole = 1 << 30;
  const IterationSpace space = analytical::make_iteration_space(kernel, {.tiled = false});
  if (!space.matrix || space.matrix->contraction.empty() ||
      kernel.op(space.anchor).opcode != ir::Opcode::kConvolution) {
    return {};
  }
  const ir::Op& op = kernel.op(space.anchor);
  const auto& attrs = op.as<ir::ConvAttrs>();
  if (attrs.window.empty()) return {};
  const int feature = space.matrix->contraction.front();
  const std::int64_t taps = attrs.window.back().size;
  const auto spatial = [&](std::size_t from_last) {
    const ir::Dims& dims = attrs.dims.output_spatial;
    return place(dims[dims.size() - 1 - from_last]);
  };
  const std::size_t features = place(attrs.dims.output_feature), columns = spatial(0);
  std::vector<std::int64_t> rows{1};
  if (taps == 1 && attrs.window.size() > 1 && op.shape.dims[spatial(1)] > 1) {
    rows.push_back(divisors(op.shape.dims[spatial(1)], kWhole)[1]);
  }
  analytical::LoopSizes extents;
  for (std::size_t i = 0; i < space.loops.size(); ++i) extents[i] = space.loops[i].size;
  for (const int loop : space.anchor_loops) extents[place(loop)] = 1;
  const auto set = [&](std::size_t dim, std::int64_t size) {
    extents[place(space.anchor_loops[dim])] = size;
  };
  std::vector<TileConfig> tiles;
  for (const std::int64_t in : divisors(space.loops[place(feature)].size, kWhole)) {
    for (const std::int64_t out : divisors(op.shape.dims[features], kWhole)) {
      for (const std::int64_t width : divisors(op.shape.dims[columns], kMostColumns)) {
        extents[place(feature)] = in;
        set(features, out);
        set(columns, width);
        for (const std::int64_t height : rows) {
          if (rows.size() > 1) set(spatial(1), height);
          tiles.push_back(analytical::tile_of_extents(space, extents));
          tiles.back().unroll = 1;
          if (taps == 1) continue;
          tiles.push_back(tiles.back());
          tiles.back().unroll = static_cast<int>(taps);
        }
      }
    }
  }
  return tiles;
}

}  // namespace tilecast::schedule
