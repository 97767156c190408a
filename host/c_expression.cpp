#include "host/c_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytical/iteration_space.h"
#include "host/c_scalar.h"

namespace tilecast::host {
namespace {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::Opcode;
using ir::OpId;

constexpr std::size_t kMaxNest = 160;  // values in a nest before operands get buffers

std::string value_type_of(const Op& op) {
  return std::string(value_type(op.shape.dtype));
}

}  // namespace

Position dynamic_starts(Pass& pass, const Op& op, std::size_t first_index, const Dims& dims,
                        const Dims& sizes) {
  Position starts;
  const OpId first = op.operands[first_index];
  const bool vector = !pass.op(first).shape.is_scalar();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::int64_t highest = dims[d] - sizes[d];
    if (highest == 0) {
      starts.emplace_back(0);
    } else if (vector) {
      starts.push_back(
          pass.function().clamped_element(first, static_cast<std::int64_t>(d), highest));
    } else {
      starts.push_back(pass.function().clamped_index(op.operands[first_index + d], highest));
    }
  }
  return starts;
}

std::string Expression::value(OpId id, const Position& index) {
  if (pass_.function().is_scalar(id)) return pass_.function().scalar(id);
  std::string key = std::to_string(id.index());
  for (const Index& i : index) key += "," + i.text();
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  std::string made;
  const bool source = pass_.function().source(id) != nullptr;
  if (direct_ && source) {
    made = source_element(id, index);
  } else if (id != root_ && !direct_ && (pass_.has_buffer(id) || nest_.size() > kMaxNest)) {
    made = leaf(id, index, BoxOrder::kAny);
  } else {
    made = compute(id, index);
  }
  known_.emplace(std::move(key), made);
  return made;
}

std::string Expression::source_element(OpId id, const Position& index,
                                       const std::vector<Flat>& flats) {
  const Source& source = *pass_.function().source(id);
  Index address;
  for (std::size_t d = 0; d < index.size(); ++d) address = address + index[d] * source.strides[d];
  for (const Flat& group : flats) {
    address = address + group.position * source.strides[at(group.dims.back())];
  }
  return element(id, source.name, address);
}

// The value, of op `id`'s type, stored at `address` of a buffer or array.
std::string Expression::element(OpId id, const std::string& array, const Index& address) {
  const Op& op = pass_.op(id);
  return nest_.value(value_type_of(op),
                     loaded(op.shape.dtype, fmt::format("{}[{}]", array, nest_.at(address))));
}

// The box of an op that the loops touch.
Box Expression::box_of(OpId id, const Position& index) {
  const Dims& dims = pass_.op(id).shape.dims;
  Box box;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Nest::Hull hull = nest_.hull(index[d]);
    const std::int64_t largest = pass_.symbols().range(hull.size).high;
    box.push_back({hull.start, hull.size, std::clamp<std::int64_t>(largest, 1, dims[d])});
  }
  return box;
}

std::string Expression::leaf(OpId id, const Position& index, BoxOrder order) {
  const Op& op = pass_.op(id);
  const Stage& stage = pass_.read(pass_.box(id, box_of(id, index), order));
  Index address;
  for (std::size_t d = 0; d < index.size(); ++d) {
    address = address + (index[d] - stage.starts[d]) * stage.strides[d];
  }
  if (!stage.accumulates) return element(id, stage.buffer, address);
  const std::string place = fmt::format("{}[{}]", stage.buffer, nest_.at(address));
  const DType dtype = op.shape.dtype;
  if (dtype == DType::kPred) return nest_.value("_Bool", place + "!=0");
  return nest_.value(value_type_of(op),
                     rounded(dtype, fmt::format("({}){}", value_type(dtype), place)));
}

std::string Expression::elementwise(const Op& op, const Position& index) {
  std::vector<std::string> values;
  std::vector<DType> types;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Shape& shape = pass_.op(op.operands[i]).shape;
    values.push_back(value(op.operands[i], *schedule::read_position(op, i, shape, index)));
    types.push_back(shape.dtype);
  }
  const auto text = elementwise_text(op, types, values);
  if (!text)
    throw Refused{
        fmt::format("{} of {} is not generated", ir::name(op.opcode), ir::name(op.shape.dtype))};
  return nest_.value(value_type_of(op), *text);
}

std::string Expression::iota(const Op& op, const Position& index) {
  const auto dim = at(op.as<ir::IndexAttrs>().index);
  return nest_.value(value_type_of(op),
                     converted(DType::kS64, op.shape.dtype, "(" + nest_.at(index[dim]) + ")"));
}

// Operand dimensions from the linear position in their group; nullopt if that takes a division.
namespace {

std::optional<Position> split_exactly(const Symbols& symbols, Index position,
                                      const std::vector<std::int64_t>& sizes) {
  Position made;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) stride *= size;
  for (const std::int64_t size : sizes) {
    stride /= size;
    Index rest;
    made.push_back(position.take_multiples(stride, rest));
    const IndexRange range = symbols.range(rest);
    if (range.low < 0 || range.high >= stride) return std::nullopt;
    position = rest;
  }
  return made;
}

}  // namespace

std::string Expression::reinterpret(const Op& op, const Position& index, const View& view) {
  const ir::Shape& operand = pass_.op(op.operands[0]).shape;
  Dims result_dims, operand_dims;
  for (const std::int64_t d : view.result) result_dims.push_back(op.shape.dims[at(d)]);
  for (const std::int64_t d : view.operand) operand_dims.push_back(operand.dims[at(d)]);
  Position made(operand_dims.size());
  std::vector<Flat> flats;
  for (const ReshapeGroup& group : reshape_groups(result_dims, operand_dims)) {
    Index position;
    for (const int d : group.result) {
      position = position * result_dims[at(d)] + index[at(view.result[at(d)])];
    }
    std::vector<std::int64_t> sizes;
    for (const int d : group.operand) sizes.push_back(operand_dims[at(d)]);
    const auto parts = split_exactly(pass_.symbols(), position, sizes);
    if (!parts) {
      flats.push_back({position, {}});
      for (const int d : group.operand) flats.back().dims.push_back(view.operand[at(d)]);
      continue;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      made[at(view.operand[at(group.operand[i])])] = (*parts)[i];
    }
  }
  if (flats.empty()) return value(op.operands[0], made);
  return flat(op.operands[0], std::move(made), flats, view.order);
}

// Groups of dimensions whose index would need a division are read at their linear position from a
// buffer (or source) in which they are contiguous.
std::string Expression::flat(OpId operand, Position index, const std::vector<Flat>& flats,
                             BoxOrder order) {
  const Dims& dims = pass_.op(operand).shape.dims;
  const Source* source = pass_.function().source(operand);
  const auto dense = [&dims](const Flat& group, const Dims& strides) {
    for (std::size_t i = 0; i + 1 < group.dims.size(); ++i) {
      const std::size_t inner = at(group.dims[i + 1]);
      if (strides[at(group.dims[i])] != strides[inner] * dims[inner]) return false;
    }
    return true;
  };
  if (direct_ && source != nullptr) {
    const bool usable = std::all_of(flats.begin(), flats.end(), [&](const Flat& group) {
      return dense(group, source->strides);
    });
    if (usable) return source_element(operand, index, flats);
  }
  if (direct_) return divided(operand, std::move(index), flats);
  Box box = box_of(operand, index);
  for (const Flat& group : flats) outermost_range(group, dims, box);
  const Stage& stage = pass_.read(pass_.box(operand, box, order));
  Index address;
  std::vector<bool> grouped(dims.size(), false);
  for (const Flat& group : flats) {
    for (const std::int64_t d : group.dims) {
      grouped[at(d)] = true;
      address = address - stage.starts[at(d)] * stage.strides[at(d)];
    }
    address = address + group.position * stage.strides[at(group.dims.back())];
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!grouped[d]) address = address + (index[d] - stage.starts[d]) * stage.strides[d];
  }
  return element(operand, stage.buffer, address);
}

// The box of a group: the touched range of its first dimension larger than 1, the others whole.
void Expression::outermost_range(const Flat& group, const Dims& dims, Box& box) {
  std::int64_t inner = 1;
  for (const std::int64_t d : group.dims) {
    box[at(d)] = {0, dims[at(d)], dims[at(d)]};
    inner *= dims[at(d)];
  }
  const auto first = std::find_if(group.dims.begin(), group.dims.end(),
                                  [&](std::int64_t d) { return dims[at(d)] > 1; });
  if (first == group.dims.end()) return;
  const std::int64_t outer = dims[at(*first)];
  inner /= outer;
  const Nest::Hull hull = nest_.hull(group.position);
  const std::int64_t positions = pass_.symbols().range(hull.size).high;
  const bool aligned = divides(inner, hull.start);
  const bool within =
      hull.size.is_constant() && inner % positions == 0 && divides(positions, hull.start);
  std::int64_t count =
      aligned ? (positions + inner - 1) / inner : (positions + inner - 2) / inner + 1;
  if (within) count = 1;
  if (count >= outer) return;
  Index start = pass_.divided(hull.start, inner);
  if (pass_.symbols().range(start).high > outer - count) {
    start = pass_.definition({0, outer - count},
                             fmt::format("tc_smaller({}, {})", start.text(), outer - count),
                             pass_.symbols().loops(start));
  }
  box[at(*first)] = {start, count, count};
}

// Computes the indices by division for each element.
std::string Expression::divided(OpId operand, Position index, const std::vector<Flat>& flats) {
  const Dims& dims = pass_.op(operand).shape.dims;
  for (const Flat& group : flats) {
    std::int64_t stride = 1;
    for (std::size_t i = group.dims.size(); i-- > 0;) {
      const std::int64_t size = dims[at(group.dims[i])];
      const std::string text = fmt::format("({})/{}%{}", nest_.at(group.position), stride, size);
      index[at(group.dims[i])] = nest_.index({0, size - 1}, text);
      stride *= size;
    }
  }
  return value(operand, index);
}

std::string Expression::gather(const Op& op, const Position& index) {
  const auto& attrs = op.as<ir::GatherAttrs>();
  const ir::Shape& operand = pass_.op(op.operands[0]).shape;
  const ir::Shape& indices = pass_.op(op.operands[1]).shape;
  Position batch, made(operand.dims.size());
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (!contains(attrs.offset_dims, static_cast<std::int64_t>(d))) batch.push_back(index[d]);
  }
  std::size_t next = 0;
  for (std::size_t d = 0; d < made.size(); ++d) {
    const auto dim = static_cast<std::int64_t>(d);
    if (contains(attrs.collapsed_slice_dims, dim) || contains(attrs.operand_batching_dims, dim)) {
      continue;
    }
    made[d] = index[at(attrs.offset_dims[next++])];
  }
  Position where;  // in the start indices; dropped for a vector with one start
  std::size_t from_batch = 0;
  for (int d = 0; d < indices.rank(); ++d) {
    where.push_back(d == attrs.index_vector_dim ? Index(0) : batch[from_batch++]);
  }
  for (std::size_t k = 0; k < attrs.start_index_map.size(); ++k) {
    const std::size_t d = at(attrs.start_index_map[k]);
    if (attrs.index_vector_dim < indices.rank()) {
      where[at(attrs.index_vector_dim)] = static_cast<std::int64_t>(k);
    }
    const std::int64_t highest = operand.dims[d] - attrs.slice_sizes[d];
    std::string start = value(op.operands[1], where);
    if (indices.dtype == DType::kU64) start = fmt::format("({0}>INT64_MAX?INT64_MAX:{0})", start);
    made[d] = made[d] + nest_.index({0, highest}, fmt::format("tc_index({}, {})", start, highest));
  }
  for (std::size_t i = 0; i < attrs.operand_batching_dims.size(); ++i) {
    made[at(attrs.operand_batching_dims[i])] = where[at(attrs.start_indices_batching_dims[i])];
  }
  if (pass_.function().source(op.operands[0]) != nullptr) {
    return source_element(op.operands[0], made);
  }
  return value(op.operands[0], made);
}

std::string Expression::compute(OpId id, const Position& index) {
  const Op& op = pass_.op(id);
  switch (op.opcode) {
    case Opcode::kDynamicSlice: {
      const Dims& dims = pass_.op(op.operands[0]).shape.dims;
      Position made = dynamic_starts(pass_, op, 1, dims, op.shape.dims);
      for (std::size_t d = 0; d < index.size(); ++d) made[d] = made[d] + index[d];
      return value(op.operands[0], made);
    }
    case Opcode::kGather:
      return gather(op, index);
    case Opcode::kIota:
      return iota(op, index);
    default:
      break;
  }
  if (ir::has(op.opcode, ir::Trait::kReshapes)) return reshape(op, index);
  if (ir::is_elementwise(op.opcode)) return elementwise(op, index);
  const auto read = op.operands.size() == 1
                        ? schedule::read_position(op, 0, pass_.op(op.operands[0]).shape, index)
                        : std::nullopt;
  if (!read) throw Refused{fmt::format("{} is not generated", ir::name(op.opcode))};
  return value(op.operands[0], *read);
}

std::string Expression::reshape(const Op& op, const Position& index) {
  const ir::Shape& operand = pass_.op(op.operands[0]).shape;
  if (op.shape.dtype != operand.dtype ||
      ir::element_count(op.shape) != ir::element_count(operand)) {
    throw Refused{"a bitcast between types is not generated"};
  }
  if (op.opcode == Opcode::kBitcast) {
    return reinterpret(op, index,
                       {analytical::physical_order(op.shape), analytical::physical_order(operand),
                        BoxOrder::kPhysical});
  }
  ir::Shape result_plain = op.shape, operand_plain = operand;
  result_plain.layout.reset();
  operand_plain.layout.reset();
  return reinterpret(op, index,
                     {analytical::physical_order(result_plain),
                      analytical::physical_order(operand_plain), BoxOrder::kRowMajor});
}

}  // namespace tilecast::host
