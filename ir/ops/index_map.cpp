#include "ir/ops/index_map.h"

#include <algorithm>

namespace tilecast::ir {
namespace {

std::int64_t at_least_one(std::int64_t v) {
  return std::max<std::int64_t>(v, 1);
}

// Dimension d follows dimension `sources[d]` of the source; -1, or none: it is whole.
IndexMap permuted(const Dims& sources, const Shape& shape) {
  IndexMap map = whole_map(shape);
  const auto listed = std::min<std::size_t>(map.rank, sources.size());
  for (std::size_t d = 0; d < listed; ++d) map.dims[d].source = static_cast<int>(sources[d]);
  return map;
}

// The sources of the map in the other direction, to an array of `rank` dimensions.
Dims inverted(const Dims& sources, int rank) {
  Dims inverse(static_cast<std::size_t>(rank), -1);
  for (std::size_t d = 0; d < sources.size(); ++d) {
    if (sources[d] >= 0 && sources[d] < rank) inverse[sources[d]] = static_cast<std::int64_t>(d);
  }
  return inverse;
}

IndexMap identity_map(const Shape& source, const Shape& shape) {
  if (shape.rank() == 0) return whole_map(shape);
  if (source.rank() != shape.rank()) return volume_map(source.rank(), shape);
  IndexMap map = whole_map(shape);
  for (int d = 0; d < shape.rank(); ++d) map.dims[d].source = d;
  return map;
}

// As identity_map(), but `dimensions` are needed whole.
IndexMap whole_in(const Dims& dimensions, const Shape& result, const Shape& shape) {
  IndexMap map = identity_map(result, shape);
  for (const std::int64_t d : dimensions) {
    if (d >= 0 && d < shape.rank()) map.dims[d].source = -1;
  }
  return map;
}

// Input of a windowed dimension from its output: (t - 1) * stride + reach, undoing base dilation.
void slide(DimMap& map, int source, const WindowDim& window) {
  map.source = source;
  map.scale = window.stride;
  map.offset = (window.size - 1) * window.window_dilation + 1 - window.stride;
  map.divisor = at_least_one(window.base_dilation);
}

IndexMap window_map(const Window& window, const Shape& shape) {
  IndexMap map = whole_map(shape);
  for (int d = 0; d < shape.rank() && d < static_cast<int>(window.size()); ++d) {
    slide(map.dims[d], d, window[d]);
  }
  return map;
}

// Window positions from the region the window slides over.
IndexMap strided_map(const Window& window, const Shape& shape) {
  IndexMap map = whole_map(shape);
  for (int d = 0; d < shape.rank() && d < static_cast<int>(window.size()); ++d) {
    map.dims[d].source = d;
    map.dims[d].divisor = at_least_one(window[d].stride);
  }
  return map;
}

// Per dimension that a reduction reads: that of the result, -1 if it is reduced.
Dims kept_dims(const Op& op, int rank) {
  Dims kept(static_cast<std::size_t>(rank), 0);
  for (const std::int64_t d : op.dimensions) kept[d] = -1;
  std::int64_t next = 0;
  for (std::int64_t& d : kept) d = d < 0 ? -1 : next++;
  return kept;
}

IndexMap slice_map(const Op& op, const Shape& shape) {
  IndexMap map = identity_map(shape, shape);
  const auto& dims = op.as<SliceAttrs>().dims;
  for (int d = 0; d < shape.rank(); ++d) {
    map.dims[d].scale = dims[d].stride;
    map.dims[d].offset = 1 - dims[d].stride;
  }
  return map;
}

IndexMap pad_map(const Op& op, const Shape& shape) {
  IndexMap map = identity_map(shape, shape);
  const auto& dims = op.as<PadAttrs>().dims;
  for (int d = 0; d < shape.rank(); ++d) map.dims[d].divisor = at_least_one(dims[d].interior + 1);
  return map;
}

// Each operand of a concatenation supplies its share of a tile.
IndexMap concatenate_map(const Op& op, const Shape& shape) {
  IndexMap map = identity_map(op.shape, shape);
  const auto d = op.dimensions.empty() ? 0 : op.dimensions[0];
  map.dims[d].scale = at_least_one(shape.dims[d]);
  map.dims[d].divisor = at_least_one(op.shape.dims[d]);
  return map;
}

// Normalisations: the large operand elementwise, per-channel vectors by the feature dimension.
IndexMap feature_map(const Op& op, const Shape& result, const Shape& shape) {
  if (shape.rank() == result.rank()) return identity_map(result, shape);
  const auto feature = op.as<BatchNormAttrs>().feature_index;
  const bool follows = shape.rank() == 1 && feature < result.rank();
  return permuted(follows ? Dims{feature} : Dims{}, shape);
}

// Each matrix of a batch is independent, and so is each column of a right-hand side.
IndexMap linear_algebra_map(const Op& op, std::size_t operand, const Shape& result,
                            const Shape& shape) {
  const int rank = shape.rank();
  Dims whole = {rank - 2, rank - 1};
  if (const auto* fft = op.get<FftAttrs>()) {
    whole.clear();
    for (int d = rank - static_cast<int>(fft->length.size()); d < rank; ++d) whole.push_back(d);
  }
  if (op.opcode == Opcode::kTriangularSolve && operand == 1) {
    const auto* attrs = op.get<TriangularAttrs>();
    const bool left = attrs == nullptr || attrs->left_side;
    whole = {left ? rank - 2 : rank - 1};
  }
  return whole_in(whole, result, shape);
}

IndexMap dot_map(const Op& op, std::size_t operand, const Shape& lhs, const Shape& shape) {
  const DotDims& dims = op.as<DotAttrs>().dims;
  const bool left = operand % 2 == 0;  // scales come after what they scale
  const Dims& batch = left ? dims.lhs_batch : dims.rhs_batch;
  const Dims& contracted = left ? dims.lhs_contracting : dims.rhs_contracting;
  const auto in = [](const Dims& list, int d) { return std::ranges::find(list, d) != list.end(); };
  int next = left ? static_cast<int>(batch.size())
                  : lhs.rank() - static_cast<int>(dims.lhs_contracting.size());
  Dims sources;
  for (int d = 0; d < shape.rank(); ++d) {
    const auto at = std::ranges::find(batch, d);
    const bool whole = in(contracted, d) || (!left && in(dims.rhs_group, d));
    sources.push_back(at != batch.end() ? at - batch.begin() : whole ? -1 : next++);
  }
  return permuted(sources, shape);
}

IndexMap convolution_map(const Op& op, std::size_t operand, const Shape& shape) {
  const auto& attrs = op.as<ConvAttrs>();
  IndexMap map = whole_map(shape);
  if (operand == 1) {
    map.dims[attrs.dims.kernel_output_feature].source = attrs.dims.output_feature;
    return map;
  }
  map.dims[attrs.dims.input_batch].source = attrs.dims.output_batch;
  for (std::size_t i = 0; i < attrs.window.size(); ++i) {
    slide(map.dims[attrs.dims.input_spatial[i]], static_cast<int>(attrs.dims.output_spatial[i]),
          attrs.window[i]);
  }
  return map;
}

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
             IndexMap& map) {
  if (from.size() == 2 && to.size() == 1) {  // spans whole rows of the minor dimension
    DimMap& merged = map.dims[to[0]];
    merged.source = static_cast<int>(from[0]);
    merged.scale = source.dims[from[1]];
    merged.second_source = static_cast<int>(from[1]);
    merged.second_scale = 1;
    merged.offset = -source.dims[from[1]];
    return true;
  }
  if (from.size() != 1) return false;
  std::int64_t inside = 1;
  for (std::size_t k = to.size(); k-- > 0;) {
    map.dims[to[k]].source = static_cast<int>(from[0]);
    map.dims[to[k]].divisor = inside;
    inside *= shape.dims[to[k]];
  }
  return true;
}

// Runs of dimensions with the same number of elements map to each other; a bitcast goes by the
// order in memory. If a run neither splits nor merges, only the volume is preserved.
IndexMap reshape_map(const Op& op, const Shape& source, const Shape& shape) {
  const bool in_memory = op.opcode == Opcode::kBitcast && source.layout && shape.layout;
  const Dims from = real_dims(source, in_memory);
  const Dims to = real_dims(shape, in_memory);
  IndexMap map = whole_map(shape);
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
                                      {to.begin() + first_j, to.begin() + j}, shape, source, map);
    if (!mapped) return volume_map(source.rank(), shape);
  }
  return i == from.size() && j == to.size() ? map : volume_map(source.rank(), shape);
}

}  // namespace

const Shape& first_array(const Shape& shape) {
  const Shape* leaf = &shape;
  while (leaf->is_tuple() && !leaf->elements.empty()) leaf = &leaf->elements.front();
  return *leaf;
}

Dims physical_order(const Shape& shape) {
  Dims order;
  const int rank = shape.rank();
  if (shape.layout && static_cast<int>(shape.layout->minor_to_major.size()) == rank) {
    order.assign(shape.layout->minor_to_major.rbegin(), shape.layout->minor_to_major.rend());
    return order;
  }
  for (int d = 0; d < rank; ++d) order.push_back(d);
  return order;
}

IndexMap whole_map(const Shape& shape) {
  IndexMap map;
  map.rank = std::min(shape.rank(), kMaxMapRank);
  for (int d = 0; d < map.rank; ++d) map.dims[d].limit = at_least_one(shape.dims[d]);
  for (int d = kMaxMapRank; d < shape.rank(); ++d) {
    map.dims[kMaxMapRank - 1].limit *= at_least_one(shape.dims[d]);
  }
  return map;
}

IndexMap volume_map(int source_rank, const Shape& shape) {
  IndexMap map = whole_map(shape);
  map.same_volume = true;
  map.source_rank = std::min(source_rank, kMaxMapRank);
  const Dims order = physical_order(shape);
  for (int i = 0; i < map.rank; ++i) {
    map.minor_first[i] = static_cast<std::int8_t>(
        shape.rank() > kMaxMapRank ? map.rank - 1 - i : order[shape.rank() - 1 - i]);
  }
  return map;
}

bool is_identity(const IndexMap& map, const Shape& source) {
  if (map.same_volume || map.rank != source.rank()) return false;
  for (int d = 0; d < map.rank; ++d) {
    const DimMap& dim = map.dims[d];
    const bool same = dim.source == d && dim.scale == 1 && dim.second_source < 0 &&
                      dim.offset == 0 && dim.divisor == 1 && dim.gap == 0 &&
                      dim.limit == at_least_one(source.dims[d]);
    if (!same) return false;
  }
  return true;
}

OperandUse operand_use(Opcode opcode, std::size_t operands, std::size_t operand) {
  using enum OperandUse;
  switch (opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return operand == 0 ? kPart : kSetting;
    case Opcode::kDynamicUpdateSlice:
      return operand == 0 ? kTarget : operand == 1 ? kRegion : kSetting;
    case Opcode::kScatter:
      return operand < operands / 2 ? kTarget : kRegion;
    case Opcode::kPad:
      return operand == 0 ? kRegion : kSetting;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return operand < operands / 2 ? kRegion : kSetting;
    default:
      return kRegion;
  }
}

// The operands of scatter are n targets, the indices and n updates.
std::optional<std::size_t> replacement_of(Opcode opcode, std::size_t operands, std::size_t target) {
  if (operand_use(opcode, operands, target) != OperandUse::kTarget) return std::nullopt;
  const std::size_t update = opcode == Opcode::kScatter ? operands / 2 + 1 + target : 1;
  return update < operands ? std::optional(update) : std::nullopt;
}

IndexMap operand_map(const Kernel& kernel, const Op& op, std::size_t operand) {
  const Shape& shape = first_array(kernel.op(op.operands[operand]).shape);
  const Shape& result = first_array(op.shape);
  if (shape.rank() > kMaxMapRank || result.rank() > kMaxMapRank) {
    return volume_map(result.rank(), shape);
  }
  const bool sets = operand_use(op.opcode, op.operands.size(), operand) == OperandUse::kSetting;
  if (shape.is_scalar() && (sets || !result.is_scalar())) return whole_map(shape);
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return permuted(op.dimensions, shape);
    case Opcode::kTranspose:
      return permuted(inverted(op.dimensions, shape.rank()), shape);
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return reshape_map(op, result, shape);
    case Opcode::kReduce:
      return permuted(kept_dims(op, shape.rank()), shape);
    case Opcode::kReduceWindow:
      return window_map(op.as<WindowAttrs>().window, shape);
    case Opcode::kSelectAndScatter:
      if (operand == 1) return strided_map(op.as<WindowAttrs>().window, shape);
      break;
    case Opcode::kSlice:
      return slice_map(op, shape);
    case Opcode::kPad:
      return pad_map(op, shape);
    case Opcode::kConcatenate:
      return concatenate_map(op, shape);
    case Opcode::kSort:
      return whole_in(op.dimensions, shape, shape);
    case Opcode::kTopK:
      return whole_in(Dims{shape.rank() - 1}, result, shape);
    case Opcode::kFft:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      return linear_algebra_map(op, operand, result, shape);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
      return feature_map(op, result, shape);
    case Opcode::kRaggedDot:
      if (operand > 1) return whole_map(shape);  // the sizes of the groups
      if (op.as<DotAttrs>().dims.rhs_group.empty()) break;
      [[fallthrough]];
    case Opcode::kDot:
    case Opcode::kScaledDot:
      if (op.get<DotAttrs>() == nullptr) break;
      return dot_map(op, operand, kernel.op(op.operands[0]).shape, shape);
    case Opcode::kConvolution:
      return convolution_map(op, operand, shape);
    case Opcode::kGather:
    case Opcode::kScatter:
      return volume_map(result.rank(), shape);
    default:
      break;
  }
  return identity_map(result, shape);
}

IndexMap result_map(const Kernel& kernel, const Op& op, std::size_t operand) {
  const Shape& source = first_array(kernel.op(op.operands[operand]).shape);
  const Shape& shape = first_array(op.shape);
  if (shape.rank() > kMaxMapRank || source.rank() > kMaxMapRank) {
    return volume_map(source.rank(), shape);
  }
  switch (op.opcode) {
    case Opcode::kBroadcast:
      return permuted(inverted(op.dimensions, shape.rank()), shape);
    case Opcode::kTranspose:
      return permuted(op.dimensions, shape);
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return reshape_map(op, source, shape);
    case Opcode::kReduce:
      return permuted(inverted(kept_dims(op, source.rank()), shape.rank()), shape);
    case Opcode::kReduceWindow:
      return strided_map(op.as<WindowAttrs>().window, shape);
    case Opcode::kDot:
    case Opcode::kScaledDot:
    case Opcode::kRaggedDot:
    case Opcode::kConvolution:
    case Opcode::kGather:
    case Opcode::kScatter:
      return volume_map(source.rank(), shape);
    default:
      return identity_map(source, shape);
  }
}

}  // namespace tilecast::ir
