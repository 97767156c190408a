#include "analytical/footprint.h"

#include <algorithm>
#include <optional>

#include "base/math.h"
#include "ir/kernels/in_place_update.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::Op;
using ir::OpId;

std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 4 : product;
}

bool is_plain(const ir::DimMap& map) {
  return map.source >= 0 && map.scale == 1 && map.second_source < 0 && map.offset == 0 &&
         map.divisor == 1;
}

bool is_plain(const Step& step) {
  const auto plain = [](const ir::DimMap& map) {
    return map.gap == 0 && (map.source < 0 || map.plain);
  };
  return !step.same_volume && std::all_of(step.dims.begin(), step.dims.begin() + step.rank, plain);
}

std::int64_t apply(const ir::DimMap& map, const std::int64_t* source) {
  if (map.source < 0) return map.limit;
  if (map.plain) return std::min(source[map.source], map.limit);
  std::int64_t extent = saturating_mul(source[map.source], map.scale) + map.offset;
  if (map.second_source >= 0) {
    extent += saturating_mul(source[map.second_source], map.second_scale);
  }
  if (map.divisor != 1) extent = (extent + map.divisor - 1) / map.divisor;
  return std::clamp<std::int64_t>(extent, 1, map.limit);
}

void apply_same_volume(const Step& step, const std::int64_t* source, Extents& out) {
  std::int64_t left = 1;
  for (int d = 0; d < step.source_rank; ++d) left = saturating_mul(left, source[d]);
  for (int i = 0; i < step.rank; ++i) {
    const int d = step.minor_first[i];
    const std::int64_t size = std::min(left, step.dims[d].limit);
    out[d] = std::max(out[d], size);
    left = base::ceil_div(left, size);
  }
}

// Which source dimensions a step reads, as a mask.
std::uint32_t source_dims(const Step& step) {
  if (step.same_volume) return (1U << step.source_rank) - 1;
  std::uint32_t mask = 0;
  for (int d = 0; d < step.rank; ++d) {
    if (step.dims[d].source >= 0) mask |= 1U << step.dims[d].source;
    if (step.dims[d].second_source >= 0) mask |= 1U << step.dims[d].second_source;
  }
  return mask;
}

// Region of operand `operand` of the anchoring dot or convolution, from the loops.
ir::IndexMap matrix_map(const Kernel& kernel, const IterationSpace& space, std::size_t operand) {
  const Op& op = kernel.op(space.anchor);
  ir::IndexMap of_operand = ir::operand_map(kernel, op, operand);
  for (ir::DimMap& map : of_operand.dims) {  // from the anchor's dimensions to their loops
    if (map.source >= 0) map.source = space.anchor_loops[map.source];
  }
  if (operand > 1) return of_operand;
  if (const auto* conv = op.get<ir::ConvAttrs>()) {
    const MatrixLoops& matrix = *space.matrix;
    const auto& dims = conv->dims;
    for (std::size_t i = 0; i < matrix.window_loops.size(); ++i) {
      const auto& window = conv->window[i];
      const int loop = matrix.window_loops[i];
      if (loop < 0) continue;
      ir::DimMap& map =
          of_operand.dims[operand == 0 ? dims.input_spatial[i] : dims.kernel_spatial[i]];
      if (operand == 1) {
        map.source = loop;
      } else if (space.loops[loop].reduction) {
        map.second_source = loop;
        map.second_scale = window.window_dilation;
        map.offset = 1 - window.stride - window.window_dilation;
      }
    }
    if (matrix.contraction.empty()) return of_operand;
    const int feature = operand == 0 ? dims.input_feature : dims.kernel_input_feature;
    of_operand.dims[feature].source = matrix.contraction[0];
    if (operand == 0)
      of_operand.dims[feature].scale = std::max<std::int64_t>(conv->feature_group_count, 1);
    return of_operand;
  }
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  const ir::Dims& contracted = operand == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  for (std::size_t i = 0; i < contracted.size() && i < space.matrix->contraction.size(); ++i) {
    of_operand.dims[contracted[i]].source = space.matrix->contraction[i];
  }
  if (operand == 1 && space.matrix->group_loop >= 0) {
    of_operand.dims[dims.rhs_group[0]].source = space.matrix->group_loop;
  }
  return of_operand;
}

class Builder {
 public:
  Builder(const Kernel& kernel, const IterationSpace& space, std::vector<Group>& groups,
          std::vector<int>& group_of)
      : kernel_(kernel), space_(space), groups_(groups), group_of_(group_of) {}

  void run() {
    group_of_.assign(kernel_.ops().size(), -1);
    if (space_.anchor.valid()) assign_anchor();
    for (int round = 0; round < 4 && !complete(); ++round) {
      forward();
      backward();
      if (round == 0) join_outputs();
    }
    for (std::size_t i = 0; i < group_of_.size(); ++i) {
      if (group_of_[i] < 0)
        add_group(OpId(i), {Step{ir::whole_map(ir::first_array(kernel_.ops()[i].shape))}});
    }
  }

 private:
  bool complete() const {
    return std::none_of(group_of_.begin(), group_of_.end(), [](int g) { return g < 0; });
  }

  int add_group(OpId op, std::vector<Step> steps) {
    Group group{.steps = std::move(steps), .representative = op};
    dims_.emplace_back();
    for (Step& step : group.steps) {
      for (ir::DimMap& map : step.dims) map.plain = is_plain(map);
      group.loops |= loops_behind(step);
      note_dims(step, dims_.back());
    }
    group.plain = group.steps.size() == 1 && is_plain(group.steps.front());
    groups_.push_back(std::move(group));
    group_of_[op.index()] = static_cast<int>(groups_.size()) - 1;
    return group_of_[op.index()];
  }

  // Loop masks are tracked per dimension, so that a reduced dimension drops its loop.
  void note_dims(const Step& step, std::array<std::uint32_t, kMaxRank>& dims) {
    const auto source_mask = [&](int d) {
      return step.source_group < 0 ? 1U << d : dims_[step.source_group][d];
    };
    std::uint32_t all = 0;
    const std::uint32_t used = source_dims(step);
    for (int d = 0; d < kMaxLoops; ++d) {
      if ((used >> d & 1U) != 0) all |= source_mask(d);
    }
    for (int d = 0; d < step.rank; ++d) {
      if (step.same_volume) {
        dims[d] |= all;
        continue;
      }
      if (step.dims[d].source >= 0) dims[d] |= source_mask(step.dims[d].source);
      if (step.dims[d].second_source >= 0) dims[d] |= source_mask(step.dims[d].second_source);
    }
  }

  // Loops that the result of `step` depends on.
  std::uint32_t loops_behind(const Step& step) const {
    const std::uint32_t used = source_dims(step);
    if (step.source_group < 0) {
      return step.same_volume ? (1U << space_.loops.size()) - 1 : used;
    }
    std::uint32_t mask = 0;
    for (int d = 0; d < kMaxRank; ++d) {
      if ((used >> d & 1U) != 0) mask |= dims_[step.source_group][d];
    }
    return mask;
  }

  void assign_anchor() {
    const ir::Shape& shape = ir::first_array(kernel_.op(space_.anchor).shape);
    Step step{ir::whole_map(shape)};
    if (shape.rank() > kMaxRank) {
      step = {ir::volume_map(1, shape)};
    } else {
      for (int d = 0; d < shape.rank(); ++d) step.dims[d].source = space_.anchor_loops[d];
    }
    step.source_group = -1;
    add_group(space_.anchor, {step});
  }

  // Results that share nothing with the anchor but their dimensions are made in the same loops.
  void join_outputs() {
    if (!space_.anchor.valid()) return;
    for (const OpId output : kernel_.outputs()) {
      const OpId made = ir::made_of(kernel_, output);
      const ir::Shape& shape = kernel_.op(made).shape;
      if (group_of_[made.index()] < 0 && ir::same_dims(shape, kernel_.op(space_.anchor).shape)) {
        group_of_[made.index()] = group_of_[space_.anchor.index()];
      }
    }
  }

  // Assigns the descendants of ops with a group.
  void forward() {
    for (std::size_t i = 0; i < kernel_.ops().size(); ++i) {
      if (group_of_[i] >= 0) continue;
      const Op& op = kernel_.ops()[i];
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        const int source = group_of_[op.operands[k].index()];
        if (source < 0 || !carries_region(op, k)) continue;
        join_or_add(OpId(i), {Step{ir::result_map(kernel_, op, k), source}});
        break;
      }
    }
  }

  // Assigns the ancestors. All users of an op come after it, so this walks from the end.
  void backward() {
    for (std::size_t i = kernel_.ops().size(); i-- > 0;) {
      if (group_of_[i] >= 0) continue;
      std::vector<Step> steps;
      std::vector<const Op*> slices;
      for (const OpId user : kernel_.users(OpId(i))) {
        if (group_of_[user.index()] < 0) continue;
        add_demands(OpId(i), user, steps);
        if (kernel_.op(user).opcode == ir::Opcode::kSlice) {
          add_to_pieces(slices, kernel_.op(user), steps.back());
        }
      }
      if (!steps.empty()) join_or_add(OpId(i), std::move(steps));
    }
  }

  // Operands that only parameterise an op determine nothing of its result.
  bool carries_region(const Op& op, std::size_t operand) const {
    const ir::Shape& shape = ir::first_array(kernel_.op(op.operands[operand]).shape);
    if (shape.is_scalar() && !ir::first_array(op.shape).is_scalar()) return false;
    return ir::operand_use(op.opcode, op.operands.size(), operand) != ir::OperandUse::kSetting;
  }

  void add_demands(OpId op, OpId user, std::vector<Step>& steps) {
    const Op& consumer = kernel_.op(user);
    for (std::size_t k = 0; k < consumer.operands.size(); ++k) {
      if (consumer.operands[k] != op) continue;
      steps.push_back(user == space_.anchor && space_.matrix
                          ? Step{matrix_map(kernel_, space_, k)}
                          : Step{ir::operand_map(kernel_, consumer, k), group_of_[user.index()]});
    }
  }

  // Slices of one array add up, in the first dimension in which `slice` starts apart from all
  // before it.
  static void add_to_pieces(std::vector<const Op*>& before, const Op& slice, Step& step) {
    const auto start = [](const Op& op, int d) { return op.as<ir::SliceAttrs>().dims[d].start; };
    for (int d = 0; d < step.rank && !before.empty(); ++d) {
      std::int64_t gap = INT64_MAX;
      for (const Op* other : before) {
        gap = std::min(gap, std::abs(start(slice, d) - start(*other, d)));
      }
      if (gap == 0) continue;
      step.dims[d].gap = gap;
      break;
    }
    before.push_back(&slice);
  }

  void join_or_add(OpId op, std::vector<Step> steps) {
    const int source = steps.front().source_group;
    const bool identical =
        source >= 0 && std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
          return step.source_group == source && is_identity(step, group_shape(source));
        });
    if (identical) {
      group_of_[op.index()] = source;
      return;
    }
    add_group(op, std::move(steps));
  }

  const ir::Shape& group_shape(int group) const {
    return ir::first_array(kernel_.op(groups_[group].representative).shape);
  }

  const Kernel& kernel_;
  const IterationSpace& space_;
  std::vector<Group>& groups_;
  std::vector<int>& group_of_;
  std::vector<std::array<std::uint32_t, kMaxRank>> dims_;  // loops that each dimension depends on
};

}  // namespace

Footprints::Footprints(const Kernel& kernel, const IterationSpace& space) {
  Builder(kernel, space, groups_, group_of_).run();
}

void Footprints::evaluate(const LoopSizes& tile, std::span<Extents> out,
                          std::uint32_t changed) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!depends(groups_[g].loops, changed)) continue;
    Extents& extents = out[g];
    extents.fill(1);
    for (const Step& step : groups_[g].steps) {
      const std::int64_t* source =
          step.source_group < 0 ? tile.data() : out[step.source_group].data();
      if (groups_[g].plain) {
        for (int d = 0; d < step.rank; ++d) {
          const ir::DimMap& map = step.dims[d];
          extents[d] = map.source < 0 ? map.limit : std::min(source[map.source], map.limit);
        }
        continue;
      }
      if (step.same_volume) {
        apply_same_volume(step, source, extents);
        continue;
      }
      for (int d = 0; d < step.rank; ++d) {
        const ir::DimMap& map = step.dims[d];
        const std::int64_t extent = apply(map, source);
        extents[d] = map.gap > 0 ? std::min(extents[d] + std::min(extent, map.gap), map.limit)
                                 : std::max(extents[d], extent);
      }
    }
  }
}

}  // namespace tilecast::analytical
