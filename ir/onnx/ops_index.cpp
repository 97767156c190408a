// Ops that read or write at computed indices: gathers, scatters, one-hot, top-k.
#include <fmt/format.h>

#include <algorithm>

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

// Converts negative indices, which count from the end.
Term from_start(Term indices, std::int64_t size) {
  if (const Numbers* known = indices.numbers()) {
    const bool all = std::all_of(known->begin(), known->end(), [](double at) { return at >= 0; });
    if (all) return indices;
  }
  const Term zero = like(indices, 0);
  return select(compare("LT", indices, zero), indices + static_cast<double>(size), indices);
}

Terms gather(const NodeSite& s) {
  const std::int64_t axis = s.axis("axis", 0, s[0].rank());
  return {take(s[0], from_start(s[1], s[0].dim(static_cast<std::size_t>(axis))), axis)};
}

// [..., rank]: the index of each element of `indices`, with the element's value along `axis`.
Term places_along(Term x, Term indices, std::int64_t axis) {
  if (x.rank() != indices.rank()) throw Error("data and indices differ in rank");
  Dims column = indices.dims();
  column.push_back(1);
  Terms parts;
  for (int d = 0; d < x.rank(); ++d) {
    const Term part = d == axis ? from_start(indices, x.dim(static_cast<std::size_t>(d)))
                                : iota(*x.emitter, indices.dtype(), indices.dims(), d);
    parts.push_back(reshape(part, column));
  }
  return concatenate(parts, x.rank());
}

Terms gather_elements(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t axis = s.axis("axis", 0, x.rank());
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = attrs.start_index_map = range(0, x.rank());
  attrs.slice_sizes = Dims(x.dims().size(), 1);
  attrs.index_vector_dim = x.rank();
  return {s.emitter.emit(
      {.opcode = Opcode::kGather, .operands = {x, places_along(x, s[1], axis)}, .attrs = attrs})};
}

// Converts negative indices in ND form: each column of the last dimension refers to one dimension
// of x.
Term nd_places(Term x, Term indices, std::int64_t batch) {
  if (indices.rank() < 1 || batch + indices.dims().back() > x.rank())
    throw Error("indices do not fit the data");
  Dims sizes;
  for (std::int64_t i = 0; i < indices.dims().back(); ++i)
    sizes.push_back(x.dim(static_cast<std::size_t>(batch + i)));
  const Term limits = integers(*x.emitter, indices.dtype(), sizes);
  return select(compare("LT", indices, like(indices, 0)), indices + limits, indices);
}

Terms gather_nd(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t batch = std::clamp<std::int64_t>(s.integer("batch_dims", 0), 0, x.rank());
  const Term indices = nd_places(x, s[1], batch);
  const std::int64_t chosen = indices.dims().back(), outer = indices.rank() - 1;
  GatherAttrs attrs;
  attrs.operand_batching_dims = attrs.start_indices_batching_dims = range(0, batch);
  attrs.collapsed_slice_dims = attrs.start_index_map = range(batch, batch + chosen);
  attrs.offset_dims = range(outer, outer + x.rank() - batch - chosen);
  attrs.slice_sizes = x.dims();
  std::fill_n(attrs.slice_sizes.begin(), batch + chosen, 1);
  attrs.index_vector_dim = outer;
  return {s.emitter.emit({.opcode = Opcode::kGather, .operands = {x, indices}, .attrs = attrs})};
}

ComputationId scatter_reducer(const NodeSite& s, DType dtype) {
  const std::string mode = s.text("reduction", "none");
  if (mode == "add") return s.emitter.reducer(Opcode::kAdd, dtype);
  if (mode == "mul") return s.emitter.reducer(Opcode::kMultiply, dtype);
  if (mode == "max") return s.emitter.reducer(Opcode::kMaximum, dtype);
  if (mode == "min") return s.emitter.reducer(Opcode::kMinimum, dtype);
  const Shape scalar = Shape::array(dtype, {});
  return s.emitter.reduction(fmt::format("replace_{}", ir::name(dtype)), {scalar, scalar},
                             [](Emitter&, const Terms& p) -> Terms { return {p[1]}; });
}

Terms scattered(const NodeSite& s, Term indices, const ScatterAttrs& attrs) {
  return {s.emitter.emit({.opcode = Opcode::kScatter,
                          .operands = {s[0], indices, s[2]},
                          .attrs = attrs,
                          .called = {scatter_reducer(s, s[0].dtype())}})};
}

Terms scatter_elements(const NodeSite& s) {
  const std::int64_t rank = s[0].rank();
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = range(0, rank);
  attrs.index_vector_dim = rank;
  return scattered(s, places_along(s[0], s[1], s.axis("axis", 0, rank)), attrs);
}

Terms scatter_nd(const NodeSite& s) {
  const Term indices = nd_places(s[0], s[1], 0);
  ScatterAttrs attrs;
  attrs.update_window_dims = range(indices.rank() - 1, s[2].rank());
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = range(0, indices.dims().back());
  attrs.index_vector_dim = indices.rank() - 1;
  return scattered(s, indices, attrs);
}

// Inputs indices, depth, [off, on].
Terms one_hot(const NodeSite& s) {
  const std::int64_t depth = s.need_known(1).at(0);
  if (depth < 0) throw Error("the depth is negative");
  const Term indices = convert(s[0], DType::kS64);
  const std::int64_t axis = normal_axis(s.integer("axis", -1), indices.rank() + 1);
  Dims dims = indices.dims(), dimensions = range(0, indices.rank() + 1);
  dims.insert(dims.begin() + axis, depth);
  dimensions.erase(dimensions.begin() + axis);
  const Term places = iota(s.emitter, DType::kS64, dims, axis);
  const Term hot =
      compare("EQ", broadcast_in(from_start(indices, depth), dims, dimensions), places);
  const auto value = [&](std::int64_t at) { return reshape(slice(s[2], 0, {at, at + 1, 1}), {}); };
  return {select(hot, value(1), value(0))};
}

// A stable sort of values and indices, truncated to the first k.
Terms top_k(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t axis = s.axis("axis", -1, x.rank());
  const std::int64_t k = s.version >= 10 ? s.need_known(1).at(0) : s.integer("k", 0);
  if (k < 0 || k > x.dim(static_cast<std::size_t>(axis)))
    throw Error(fmt::format("k is {}, the axis has {}", k, x.dim(static_cast<std::size_t>(axis))));
  const bool largest = s.integer("largest", 1) != 0;
  const Shape value = Shape::array(x.dtype(), {}), place = Shape::array(DType::kS64, {});
  const ComputationId order = s.emitter.reduction(
      fmt::format("{}_first_{}", largest ? "largest" : "smallest", ir::name(x.dtype())),
      {value, value, place, place}, [&](Emitter&, const Terms& p) -> Terms {
        return {compare(largest ? "GT" : "LT", p[0], p[1])};
      });
  const Term sorted = s.emitter.emit({.opcode = Opcode::kSort,
                                      .operands = {x, iota(s.emitter, DType::kS64, x.dims(), axis)},
                                      .dimensions = {axis},
                                      .called = {order},
                                      .raw = {{"is_stable", "true"}}});
  Terms results;
  for (const Term& part : elements_of(sorted)) results.push_back(slice(part, axis, {0, k, 1}));
  return results;
}

// Indices of non-zero elements, [rank, count]. Supported only for known inputs; exporters use it to
// create ranges.
Terms non_zero(const NodeSite& s) {
  const Numbers numbers = s.known_numbers(0).value_or(Numbers());
  const Dims dims = s[0].rank() == 0 ? Dims{1} : s[0].dims();
  Numbers places;
  std::int64_t count = 0;
  for (const double number : numbers) count += number != 0 ? 1 : 0;
  std::int64_t stride = static_cast<std::int64_t>(numbers.size());
  for (const std::int64_t size : dims) {
    stride /= std::max<std::int64_t>(size, 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != 0)
        places.push_back(static_cast<double>(static_cast<std::int64_t>(i) / stride % size));
    }
  }
  return {s.emitter.constant(
      Shape::array(DType::kS64, {static_cast<std::int64_t>(dims.size()), count}), places)};
}

// Selects the slices along an axis, or elements of the flat input, by a known condition.
Terms compress(const NodeSite& s) {
  const Term x = s.find("axis") == nullptr ? reshape(s[0], {product(s[0].dims())}) : s[0];
  const std::int64_t axis = s.axis("axis", 0, x.rank());
  const Dims kept = s.need_known(1);
  Dims places;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  return {take(x, integers(s.emitter, DType::kS64, places), axis)};
}

constexpr OpRow kIndexed[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"OneHot", one_hot},
    {"TopK", top_k},
    {"NonZero", non_zero},
    {"Compress", compress},
};

}  // namespace

std::span<const OpRow> index_rows() {
  return kIndexed;
}

}  // namespace tilecast::ir::onnx_reader
