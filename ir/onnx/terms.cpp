#include "ir/onnx/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/literal.h"

namespace tilecast::ir::onnx_reader {
namespace {

std::pair<Term, Term> aligned(Term a, Term b) {
  const Dims dims = broadcast_dims(a.dims(), b.dims());
  return {broadcast_to(a, dims), broadcast_to(b, dims)};
}

double identity_of(Opcode opcode, DType dtype) {
  switch (opcode) {
    case Opcode::kMultiply:
    case Opcode::kAnd:
      return 1;
    case Opcode::kMaximum:
      return lowest(dtype);
    case Opcode::kMinimum:
      return lowest(dtype, /*highest=*/true);
    default:
      return 0;
  }
}

}  // namespace

std::int64_t to_integer(double value) {
  if (value >= 0x1p63) return INT64_MAX;
  return value <= -0x1p63 || std::isnan(value) ? INT64_MIN : static_cast<std::int64_t>(value);
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw Error(fmt::format("axis {} is out of range for rank {}", axis, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Dims normal_axes(Dims axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = normal_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw Error("an axis is named twice");
  return axes;
}

Dims range(std::int64_t begin, std::int64_t end) {
  Dims dims;
  for (std::int64_t i = begin; i < end; ++i) dims.push_back(i);
  return dims;
}

std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end) {
  const Dims part(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                  dims.begin() + static_cast<std::ptrdiff_t>(std::min(end, dims.size())));
  return element_count(Shape::array(DType::kPred, part));
}

double lowest(DType dtype, bool highest) {
  if (dtype == DType::kPred) return highest ? 1 : 0;
  if (is_floating(dtype)) return highest ? INFINITY : -INFINITY;
  if (is_unsigned_integer(dtype)) return highest ? std::ldexp(1, bits(dtype)) - 1 : 0;
  const double limit = std::ldexp(1, bits(dtype) - 1);
  return highest ? limit - 1 : -limit;
}

Term of_rank(Term x, int least, int most) {
  if (x.rank() < least || x.rank() > most) {
    throw Error(fmt::format("expects rank {}{}; got {}", least, least == most ? "" : " or more",
                            to_string(x.shape(), /*with_layout=*/false)));
  }
  return x;
}

std::int64_t bounded(std::int64_t value, std::int64_t least) {
  if (value < least || value > INT32_MAX) throw Error(fmt::format("{} is out of range", value));
  return value;
}

Term scalar(Emitter& emitter, DType dtype, double value) {
  if (dtype == DType::kPred) value = value != 0 ? 1 : 0;
  if (is_integer(dtype)) {
    value = std::isnan(value)
                ? 0
                : std::clamp(std::trunc(value), lowest(dtype), lowest(dtype, /*highest=*/true));
  }
  return emitter.constant(Shape::array(dtype, {}), {round_to(value, dtype)});
}

Term integers(Emitter& emitter, DType dtype, const Dims& values) {
  return emitter.constant(Shape::array(dtype, {static_cast<std::int64_t>(values.size())}),
                          Numbers(values.begin(), values.end()));
}

Term unary(Opcode opcode, Term x) {
  return x.emitter->emit({.opcode = opcode, .operands = {x}});
}

Term binary(Opcode opcode, Term a, Term b) {
  std::tie(a, b) = aligned(a, b);
  return a.emitter->emit({.opcode = opcode, .operands = {a, b}});
}

Term compare(const char* direction, Term a, Term b) {
  std::tie(a, b) = aligned(a, b);
  return a.emitter->emit(
      {.opcode = Opcode::kCompare, .operands = {a, b}, .attrs = CompareAttrs{direction, {}}});
}

Term select(Term condition, Term a, Term b) {
  const Dims dims = broadcast_dims(condition.dims(), broadcast_dims(a.dims(), b.dims()));
  return a.emitter->emit(
      {.opcode = Opcode::kSelect,
       .operands = {broadcast_to(condition, dims), broadcast_to(a, dims), broadcast_to(b, dims)}});
}

Term convert(Term x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.emitter->emit(
      {.opcode = Opcode::kConvert, .operands = {x}, .shape = Shape::array(dtype, x.dims())});
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::int64_t left = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t right = i <= b.size() ? b[b.size() - i] : 1;
    if (left != right && left != 1 && right != 1) {
      throw Error(fmt::format("shapes [{}] and [{}] do not broadcast", fmt::join(a, ","),
                              fmt::join(b, ",")));
    }
    dims[dims.size() - i] = left == 1 ? right : left;
  }
  return dims;
}

Term broadcast_in(Term x, const Dims& dims, const Dims& dimensions) {
  return x.emitter->emit({.opcode = Opcode::kBroadcast,
                          .operands = {x},
                          .dimensions = dimensions,
                          .shape = Shape::array(x.dtype(), dims)});
}

Term broadcast_to(Term x, const Dims& dims) {
  if (x.dims() == dims) return x;
  if (broadcast_dims(x.dims(), dims) != dims) {
    throw Error(fmt::format("shape [{}] does not broadcast to [{}]", fmt::join(x.dims(), ","),
                            fmt::join(dims, ",")));
  }
  const std::size_t offset = dims.size() - x.dims().size();
  Dims kept, dimensions;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    if (x.dims()[i] != dims[offset + i]) continue;  // 1: repeats
    kept.push_back(x.dims()[i]);
    dimensions.push_back(static_cast<std::int64_t>(offset + i));
  }
  return broadcast_in(reshape(x, kept), dims, dimensions);
}

Term full(Emitter& emitter, DType dtype, const Dims& dims, double value) {
  return broadcast_in(scalar(emitter, dtype, value), dims, {});
}

Term iota(Emitter& emitter, DType dtype, const Dims& dims, std::int64_t axis) {
  static_cast<void>(dims.at(static_cast<std::size_t>(axis)));
  return emitter.emit(
      {.opcode = Opcode::kIota, .attrs = IndexAttrs{axis}, .shape = Shape::array(dtype, dims)});
}

Term reshape(Term x, const Dims& dims) {
  if (x.dims() == dims) return x;
  return x.emitter->emit(
      {.opcode = Opcode::kReshape, .operands = {x}, .shape = Shape::array(x.dtype(), dims)});
}

Term transpose(Term x, const Dims& permutation) {
  if (permutation == range(0, x.rank())) return x;
  return x.emitter->emit(
      {.opcode = Opcode::kTranspose, .operands = {x}, .dimensions = permutation});
}

Term slice(Term x, std::int64_t axis, const SliceDim& range_of_axis) {
  SliceAttrs attrs;
  for (const std::int64_t size : x.dims()) attrs.dims.push_back({0, size, 1});
  attrs.dims.at(static_cast<std::size_t>(axis)) = range_of_axis;
  return x.emitter->emit({.opcode = Opcode::kSlice, .operands = {x}, .attrs = attrs});
}

Term pad(Term x, std::vector<PadDim> dims, Term value) {
  return x.emitter->emit(
      {.opcode = Opcode::kPad, .operands = {x, value}, .attrs = PadAttrs{std::move(dims)}});
}

Term concatenate(const Terms& parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return parts.at(0).emitter->emit(
      {.opcode = Opcode::kConcatenate, .operands = parts, .dimensions = {axis}});
}

Term reduce(Opcode opcode, Term x, const Dims& axes, bool keep) {
  Dims kept = x.dims();
  for (const std::int64_t axis : axes) kept.at(static_cast<std::size_t>(axis)) = 1;
  if (!axes.empty()) {
    Emitter& emitter = *x.emitter;
    x = emitter.emit({.opcode = Opcode::kReduce,
                      .operands = {x, like(x, identity_of(opcode, x.dtype()))},
                      .dimensions = axes,
                      .called = {emitter.reducer(opcode, x.dtype())}});
  }
  return keep ? reshape(x, kept) : x;
}

Term mean(Term x, const Dims& axes) {
  double count = 1;
  for (const std::int64_t axis : axes)
    count *= static_cast<double>(x.dim(static_cast<std::size_t>(axis)));
  return reduce(Opcode::kAdd, x, axes, /*keep=*/true) / count;
}

Term dot(Term a, Term b, DotDims dims, DType type) {
  Shape shape;
  shape.dtype = type;
  return a.emitter->emit({.opcode = Opcode::kDot,
                          .operands = {a, b},
                          .attrs = DotAttrs{std::move(dims), {}, {}},
                          .shape = shape});
}

Term take(Term x, Term indices, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t behind = x.rank() - axis - 1;
  const bool small = x.is_literal() && indices.is_literal() && indices.rank() <= 1;
  if (small && product({product(indices.dims()), product(x.dims())}) <= kMostFolded) {
    Terms parts;  // known numbers: as slices, which are folded
    for (const double index : *indices.numbers()) {
      const std::int64_t place = to_integer(index);
      parts.push_back(slice(x, axis, {place, place + 1, 1}));
    }
    Dims dims = x.dims();
    if (indices.rank() == 0) dims.erase(dims.begin() + axis);
    if (!parts.empty()) {
      const Term all = concatenate(parts, axis);
      return indices.rank() == 0 ? reshape(all, dims) : all;
    }
  }
  GatherAttrs attrs;
  attrs.offset_dims = range(0, axis);
  const Dims after = range(axis + indices.rank(), axis + indices.rank() + behind);
  attrs.offset_dims.insert(attrs.offset_dims.end(), after.begin(), after.end());
  attrs.collapsed_slice_dims = {axis};
  attrs.start_index_map = {axis};
  attrs.slice_sizes = x.dims();
  attrs.slice_sizes.at(at) = 1;
  attrs.index_vector_dim = indices.rank();
  return x.emitter->emit({.opcode = Opcode::kGather, .operands = {x, indices}, .attrs = attrs});
}

Terms elements_of(Term tuple) {
  Terms parts;
  for (std::size_t i = 0; i < tuple.shape().elements.size(); ++i) {
    parts.push_back(tuple.emitter->emit({.opcode = Opcode::kGetTupleElement,
                                         .operands = {tuple},
                                         .attrs = IndexAttrs{static_cast<std::int64_t>(i)}}));
  }
  return parts;
}

Terms counted_loop(const Turns& turns, const Terms& state, const Terms& captured,
                   const LoopBody& body) {
  Emitter& emitter = !state.empty() ? *state[0].emitter : *captured.at(0).emitter;
  Terms all = {scalar(emitter, DType::kS32, 0)};
  all.insert(all.end(), state.begin(), state.end());
  all.insert(all.end(), captured.begin(), captured.end());
  const auto step = [&](Emitter& inner, const Terms& parts) {
    const auto end = parts.begin() + 1 + static_cast<std::ptrdiff_t>(state.size());
    Terms next = body(inner, parts[0], Terms(parts.begin() + 1, end), Terms(end, parts.end()));
    next.insert(next.begin(), parts[0] + 1.0);
    next.insert(next.end(), end, parts.end());
    return next;
  };
  const ComputationId body_id = emitter.computation("body", all, step);
  const ComputationId condition = emitter.computation(
      "condition", all,
      [&](Emitter&, const Terms& parts) -> Terms {
        if (turns.by_condition) return {parts[1]};
        return {compare("LT", parts[0], like(parts[0], static_cast<double>(turns.most.value())))};
      },
      /*gives_tuple=*/false);
  const Term tuple = emitter.emit({.opcode = Opcode::kTuple, .operands = all});
  const Term loop =
      emitter.emit({.opcode = Opcode::kWhile, .operands = {tuple}, .called = {condition, body_id}});
  Terms parts = elements_of(loop);
  return Terms(parts.begin() + 1, parts.begin() + 1 + static_cast<std::ptrdiff_t>(state.size()));
}

Term dynamic_slice(Term x, std::int64_t axis, Term at) {
  Terms operands = {x};
  for (int d = 0; d < x.rank(); ++d) operands.push_back(d == axis ? at : like(at, 0));
  Dims sizes = x.dims();
  sizes.at(static_cast<std::size_t>(axis)) = 1;
  return x.emitter->emit(
      {.opcode = Opcode::kDynamicSlice, .operands = operands, .attrs = DynamicSliceAttrs{sizes}});
}

Term dynamic_update(Term x, Term part, std::int64_t axis, Term at) {
  Terms operands = {x, part};
  for (int d = 0; d < x.rank(); ++d) operands.push_back(d == axis ? at : like(at, 0));
  return x.emitter->emit({.opcode = Opcode::kDynamicUpdateSlice, .operands = operands});
}

}  // namespace tilecast::ir::onnx_reader
