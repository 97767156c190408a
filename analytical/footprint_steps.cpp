#include "analytical/footprint_steps.h"

#include <algorithm>

namespace tilecast::analytical {
namespace {

using ir::Dims;
using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::Shape;

std::int64_t at_least_one(std::int64_t v) {
  return std::max<std::int64_t>(v, 1);
}

void map_dim(Step& step, int dim, std::int64_t source) {
  step.dims[dim].source = static_cast<int>(source);
}

Step identity_step(const Shape& source, const Shape& shape) {
  Step step = whole_step(shape);
  if (source.rank() != shape.rank()) {
    return shape.rank() == 0 ? step : volume_step(source.rank(), shape);
  }
  for (int d = 0; d < shape.rank(); ++d) map_dim(step, d, d);
  return step;
}

// Input of a windowed dimension from its output: (t - 1) * stride + reach, undoing base dilation.
void map_window(Step& step, int dim, int source, const ir::WindowDim& window) {
  DimMap& map = step.dims[dim];
  map.source = source;
  map.scale = window.stride;
  map.offset = (window.size - 1) * window.window_dilation + 1 - window.stride;
  map.divisor = at_least_one(window.base_dilation);
}

// to_listed: dimension dimensions[d] of the array is dimension d of the source; from_listed: the
// inverse.
Step to_listed(const Dims& dimensions, const Shape& shape) {
  Step step = whole_step(shape);
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    map_dim(step, static_cast<int>(dimensions[d]), static_cast<std::int64_t>(d));
  }
  return step;
}

Step from_listed(const Dims& dimensions, const Shape& shape) {
  Step step = whole_step(shape);
  for (int d = 0; d < shape.rank(); ++d) map_dim(step, d, dimensions[d]);
  return step;
}

// Window positions from the region the window slides over.
Step strided_step(const ir::Window& window, const Shape& shape) {
  Step step = whole_step(shape);
  for (int d = 0; d < shape.rank() && d < static_cast<int>(window.size()); ++d) {
    map_dim(step, d, d);
    step.dims[d].divisor = at_least_one(window[d].stride);
  }
  return step;
}

bool contains(const Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// The i-th dimension that a reduction keeps is dimension i of the result.
Step reduce_backward(const Op& op, const Shape& shape) {
  Step step = whole_step(shape);
  int kept = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!contains(op.dimensions, d)) map_dim(step, d, kept++);
  }
  return step;
}

Step reduce_forward(const Op& op, const Shape& source, const Shape& shape) {
  Step step = whole_step(shape);
  int kept = 0;
  for (int d = 0; d < source.rank(); ++d) {
    if (!contains(op.dimensions, d) && kept < shape.rank()) map_dim(step, kept++, d);
  }
  return step;
}

Step window_backward(const ir::Window& window, const Shape& shape) {
  Step step = whole_step(shape);
  for (int d = 0; d < shape.rank() && d < static_cast<int>(window.size()); ++d) {
    map_window(step, d, d, window[d]);
  }
  return step;
}

Step slice_backward(const Op& op, const Shape& shape) {
  Step step = whole_step(shape);
  const auto& dims = op.as<ir::SliceAttrs>().dims;
  for (int d = 0; d < shape.rank(); ++d) {
    map_dim(step, d, d);
    step.dims[d].scale = dims[d].stride;
    step.dims[d].offset = 1 - dims[d].stride;
  }
  return step;
}

Step pad_backward(const Op& op, const Shape& shape) {
  Step step = whole_step(shape);
  const auto& dims = op.as<ir::PadAttrs>().dims;
  for (int d = 0; d < shape.rank(); ++d) {
    map_dim(step, d, d);
    step.dims[d].divisor = at_least_one(dims[d].interior + 1);
  }
  return step;
}

// Each operand of a concatenation supplies its share of a tile.
Step concatenate_backward(const Op& op, const Shape& shape) {
  Step step = identity_step(op.shape, shape);
  const auto d = op.dimensions.empty() ? 0 : op.dimensions[0];
  step.dims[d].scale = at_least_one(shape.dims[d]);
  step.dims[d].divisor = at_least_one(op.shape.dims[d]);
  return step;
}

// Normalisations: the large operand elementwise, per-channel vectors by the feature dimension.
Step feature_backward(const Op& op, const Shape& source, const Shape& shape) {
  if (shape.rank() == source.rank()) return identity_step(source, shape);
  Step step = whole_step(shape);
  const auto feature = op.as<ir::BatchNormAttrs>().feature_index;
  if (shape.rank() == 1 && feature < source.rank()) map_dim(step, 0, feature);
  return step;
}

// `dimensions` are needed whole, the others as the result's tile.
Step whole_in(const Dims& dimensions, const Shape& result, const Shape& shape) {
  Step step = identity_step(result, shape);
  for (const std::int64_t d : dimensions) {
    if (d >= 0 && d < shape.rank()) map_dim(step, static_cast<int>(d), -1);
  }
  return step;
}

// Each matrix of a batch is independent, and so is each column of a right-hand side.
Step linear_algebra_backward(const Op& op, std::size_t operand, const Shape& result,
                             const Shape& shape) {
  const int rank = shape.rank();
  Dims whole = {rank - 2, rank - 1};
  if (const auto* fft = op.get<ir::FftAttrs>()) {
    whole.clear();
    for (int d = rank - static_cast<int>(fft->length.size()); d < rank; ++d) whole.push_back(d);
  }
  if (op.opcode == Opcode::kTriangularSolve && operand == 1) {
    const auto* attrs = op.get<ir::TriangularAttrs>();
    const bool left = attrs == nullptr || attrs->left_side;
    whole = {left ? rank - 2 : rank - 1};
  }
  return whole_in(whole, result, shape);
}

Step dot_backward(const Kernel& kernel, const Op& op, std::size_t operand) {
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  const Shape& lhs = kernel.op(op.operands[0]).shape;
  const Shape& shape = region_shape(kernel.op(op.operands[operand]).shape);
  Step step = whole_step(shape);
  const bool left = operand % 2 == 0;  // scales come after what they scale
  const Dims& batch = left ? dims.lhs_batch : dims.rhs_batch;
  const Dims& contracted = left ? dims.lhs_contracting : dims.rhs_contracting;
  int next = left ? static_cast<int>(batch.size())
                  : lhs.rank() - static_cast<int>(dims.lhs_contracting.size());
  for (int d = 0; d < shape.rank(); ++d) {
    const auto at = std::find(batch.begin(), batch.end(), d);
    if (at != batch.end()) {
      map_dim(step, d, at - batch.begin());
    } else if (!contains(contracted, d) && (left || !contains(dims.rhs_group, d))) {
      map_dim(step, d, next++);
    }
  }
  return step;
}

Step convolution_backward(const Op& op, std::size_t operand, const Shape& shape) {
  const auto& attrs = op.as<ir::ConvAttrs>();
  Step step = whole_step(shape);
  if (operand == 1) {
    map_dim(step, attrs.dims.kernel_output_feature, attrs.dims.output_feature);
    return step;
  }
  map_dim(step, attrs.dims.input_batch, attrs.dims.output_batch);
  for (std::size_t i = 0; i < attrs.window.size(); ++i) {
    map_window(step, static_cast<int>(attrs.dims.input_spatial[i]),
               static_cast<int>(attrs.dims.output_spatial[i]), attrs.window[i]);
  }
  return step;
}

// Rewrites the sources of a step over the anchor's dimensions into loops.
void to_loops(Step& step, const IterationSpace& space) {
  for (int d = 0; d < step.rank; ++d) {
    DimMap& map = step.dims[d];
    if (map.source >= 0) map.source = space.anchor_loops[map.source];
  }
  step.source_group = -1;
}

}  // namespace

const Shape& region_shape(const Shape& shape) {
  const Shape* leaf = &shape;
  while (leaf->is_tuple() && !leaf->elements.empty()) leaf = &leaf->elements.front();
  return *leaf;
}

Step whole_step(const Shape& shape) {
  Step step;
  step.rank = std::min(shape.rank(), kMaxRank);
  for (int d = 0; d < step.rank; ++d) step.dims[d].limit = at_least_one(shape.dims[d]);
  for (int d = kMaxRank; d < shape.rank(); ++d) {
    step.dims[kMaxRank - 1].limit *= at_least_one(shape.dims[d]);
  }
  return step;
}

Step volume_step(int source_rank, const Shape& shape) {
  Step step = whole_step(shape);
  step.same_volume = true;
  step.source_rank = std::min(source_rank, kMaxRank);
  const Dims order = physical_order(shape);
  for (int i = 0; i < step.rank; ++i) {
    step.minor_first[i] = static_cast<std::int8_t>(
        shape.rank() > kMaxRank ? step.rank - 1 - i : order[shape.rank() - 1 - i]);
  }
  return step;
}

bool is_identity(const Step& step, const Shape& source_shape) {
  if (step.same_volume || step.rank != source_shape.rank()) return false;
  for (int d = 0; d < step.rank; ++d) {
    const DimMap& map = step.dims[d];
    const bool same = map.source == d && map.scale == 1 && map.second_source < 0 &&
                      map.offset == 0 && map.divisor == 1 && map.gap == 0 &&
                      map.limit == at_least_one(source_shape.dims[d]);
    if (!same) return false;
  }
  return true;
}

bool carries_region(const Kernel& kernel, const Op& op, std::size_t operand) {
  const Shape& shape = region_shape(kernel.op(op.operands[operand]).shape);
  if (shape.is_scalar() && !region_shape(op.shape).is_scalar()) return false;
  switch (op.opcode) {
    case Opcode::kGather:
    case Opcode::kDynamicSlice:
    case Opcode::kPad:
      return operand == 0;
    case Opcode::kDynamicUpdateSlice:
      return operand <= 1;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return operand < op.operands.size() / 2;
    default:
      return true;
  }
}

Step backward_step(const Kernel& kernel, const Op& op, std::size_t operand) {
  const Shape& shape = region_shape(kernel.op(op.operands[operand]).shape);
  const Shape& result = region_shape(op.shape);
  if (shape.rank() > kMaxRank || result.rank() > kMaxRank) {
    return volume_step(result.rank(), shape);
  }
  if (!carries_region(kernel, op, operand) && shape.is_scalar()) return whole_step(shape);
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return from_listed(op.dimensions, shape);
    case Opcode::kTranspose:
      return to_listed(op.dimensions, shape);
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return reshape_step(op, result, shape);
    case Opcode::kReduce:
      return reduce_backward(op, shape);
    case Opcode::kReduceWindow:
      return window_backward(op.as<ir::WindowAttrs>().window, shape);
    case Opcode::kSelectAndScatter:
      if (operand == 1) return strided_step(op.as<ir::WindowAttrs>().window, shape);
      break;
    case Opcode::kSlice:
      return slice_backward(op, shape);
    case Opcode::kPad:
      return pad_backward(op, shape);
    case Opcode::kConcatenate:
      return concatenate_backward(op, shape);
    case Opcode::kSort:
      return whole_in(op.dimensions, shape, shape);
    case Opcode::kTopK:
      return whole_in(Dims{shape.rank() - 1}, result, shape);
    case Opcode::kFft:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      return linear_algebra_backward(op, operand, result, shape);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      return feature_backward(op, result, shape);
    case Opcode::kRaggedDot:
      if (operand > 1) return whole_step(shape);  // the sizes of the groups
      if (op.as<ir::DotAttrs>().dims.rhs_group.empty()) break;
      [[fallthrough]];
    case Opcode::kDot:
    case Opcode::kScaledDot:
      if (op.get<ir::DotAttrs>() != nullptr) return dot_backward(kernel, op, operand);
      break;
    case Opcode::kConvolution:
      return convolution_backward(op, operand, shape);
    case Opcode::kGather:
    case Opcode::kScatter:
      return volume_step(result.rank(), shape);
    default:
      break;
  }
  return identity_step(result, shape);
}

Step forward_step(const Kernel& kernel, const Op& op, std::size_t operand) {
  const Shape& source = region_shape(kernel.op(op.operands[operand]).shape);
  const Shape& shape = region_shape(op.shape);
  if (shape.rank() > kMaxRank || source.rank() > kMaxRank) {
    return volume_step(source.rank(), shape);
  }
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return to_listed(op.dimensions, shape);
    case Opcode::kTranspose:
      return from_listed(op.dimensions, shape);
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return reshape_step(op, source, shape);
    case Opcode::kReduce:
      return reduce_forward(op, source, shape);
    case Opcode::kReduceWindow:
      return strided_step(op.as<ir::WindowAttrs>().window, shape);
    case Opcode::kDot:
    case Opcode::kScaledDot:
    case Opcode::kRaggedDot:
    case Opcode::kConvolution:
    case Opcode::kGather:
    case Opcode::kScatter:
      return volume_step(source.rank(), shape);
    default:
      return identity_step(source, shape);
  }
}

Step matrix_step(const Kernel& kernel, const IterationSpace& space, std::size_t operand) {
  const Op& op = kernel.op(space.anchor);
  Step step = backward_step(kernel, op, operand);
  to_loops(step, space);
  if (operand > 1) return step;
  if (const auto* conv = op.get<ir::ConvAttrs>()) {
    const MatrixLoops& matrix = *space.matrix;
    const auto& dims = conv->dims;
    for (std::size_t i = 0; i < matrix.window_loops.size(); ++i) {
      const auto& window = conv->window[i];
      const int loop = matrix.window_loops[i];
      if (loop < 0) continue;
      DimMap& map = step.dims[operand == 0 ? dims.input_spatial[i] : dims.kernel_spatial[i]];
      if (operand == 1) {
        map.source = loop;
      } else if (space.loops[loop].reduction) {
        map.second_source = loop;
        map.second_scale = window.window_dilation;
        map.offset = 1 - window.stride - window.window_dilation;
      }
    }
    if (matrix.contraction.empty()) return step;
    const int feature = operand == 0 ? dims.input_feature : dims.kernel_input_feature;
    step.dims[feature].source = matrix.contraction[0];
    if (operand == 0) step.dims[feature].scale = at_least_one(conv->feature_group_count);
    return step;
  }
  const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
  const Dims& contracted = operand == 0 ? dims.lhs_contracting : dims.rhs_contracting;
  for (std::size_t i = 0; i < contracted.size() && i < space.matrix->contraction.size(); ++i) {
    step.dims[contracted[i]].source = space.matrix->contraction[i];
  }
  if (operand == 1 && space.matrix->group_loop >= 0) {
    step.dims[dims.rhs_group[0]].source = space.matrix->group_loop;
  }
  return step;
}

// Reshapes and bitcasts: which dimensions split, merge or stay.

namespace {

// Dimensions larger than 1, most major first, in memory order or by number.
Dims real_dims(const Shape& shape, bool in_memory) {
  Dims order = physical_order(shape);
  if (!in_memory) std::sort(order.begin(), order.end());
  const auto single = [&](std::int64_t d) { return shape.dims[d] == 1; };
  order.erase(std::remove_if(order.begin(), order.end(), single), order.end());
  return order;
}

// Maps two runs of dimensions with the same number of elements: a split of one dimension into any
// number, or a merge of two into one. False for other runs.
bool map_run(const Dims& from, const Dims& to, const Shape& shape, const Shape& source,
             Step& step) {
  if (from.size() == 2 && to.size() == 1) {  // spans whole rows of the minor dimension
    DimMap& map = step.dims[to[0]];
    map.source = static_cast<int>(from[0]);
    map.scale = source.dims[from[1]];
    map.second_source = static_cast<int>(from[1]);
    map.second_scale = 1;
    map.offset = -source.dims[from[1]];
    return true;
  }
  if (from.size() != 1) return false;
  std::int64_t inside = 1;
  for (std::size_t k = to.size(); k-- > 0;) {
    step.dims[to[k]].source = static_cast<int>(from[0]);
    step.dims[to[k]].divisor = inside;
    inside *= shape.dims[to[k]];
  }
  return true;
}

}  // namespace

Step reshape_step(const ir::Op& op, const Shape& source, const Shape& shape) {
  const bool in_memory = op.opcode == ir::Opcode::kBitcast && source.layout && shape.layout;
  const Dims from = real_dims(source, in_memory);
  const Dims to = real_dims(shape, in_memory);
  Step step = whole_step(shape);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() && j < to.size()) {
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    std::int64_t elements = source.dims[from[i++]];
    std::int64_t others = shape.dims[to[j++]];
    while (elements != others) {
      if (elements < others ? i == from.size() : j == to.size()) break;
      (elements < others ? elements : others) *=
          elements < others ? source.dims[from[i++]] : shape.dims[to[j++]];
    }
    const bool mapped =
        elements == others && map_run({from.begin() + first_i, from.begin() + i},
                                      {to.begin() + first_j, to.begin() + j}, shape, source, step);
    if (!mapped) return volume_step(source.rank(), shape);
  }
  return i == from.size() && j == to.size() ? step : volume_step(source.rank(), shape);
}

}  // namespace tilecast::analytical
