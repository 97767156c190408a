// Ops that move or create elements: reshapes, slices, concatenation, constants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/onnx/node_site.h"

namespace tilecast::ir::onnx_reader {
namespace {

Terms same(const NodeSite& s) {
  return {s[0]};
}

// Inputs x, ratio, training: elements are dropped only in training mode.
Terms dropout(const NodeSite& s) {
  const Term x = s[0];
  const bool training = s.version >= 12 && s.has(2) && s.known_numbers(2)->at(0) != 0;
  if (!training) {
    const DType dtype = s.version >= 10 ? DType::kPred : x.dtype();
    return s.gives(1) ? Terms{x, full(s.emitter, dtype, x.dims(), 1)} : Terms{x};
  }
  const Term ratio = s.has(1) ? convert(s[1], x.dtype()) : like(x, 0.5);
  const Term chance = s.emitter.emit({.opcode = Opcode::kRng,
                                      .operands = {like(x, 0), like(x, 1)},
                                      .shape = Shape::array(x.dtype(), x.dims()),
                                      .raw = {{"distribution", "rng_uniform"}}});
  const Term kept = compare("GE", chance, ratio);
  return {select(kept, x / (1.0 - ratio), like(x, 0)), kept};
}

Terms reshape_node(const NodeSite& s) {
  const Term x = s[0];
  Dims dims = s.version < 5 ? s.integers("shape").value_or(Dims()) : s.need_known(1);
  const bool keeps_zero = s.flag("allowzero");
  std::int64_t rest = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keeps_zero) dims[i] = x.dims().size() > i ? x.dims()[i] : 0;
    if (dims[i] < -1 || (dims[i] == -1 && rest >= 0))
      throw Error(fmt::format("shape [{}] has more than one free size", fmt::join(dims, ",")));
    if (dims[i] == -1) rest = static_cast<std::int64_t>(i);
  }
  if (rest >= 0) {
    dims[static_cast<std::size_t>(rest)] = 1;
    const std::int64_t others = product(dims);
    dims[static_cast<std::size_t>(rest)] = others == 0 ? 0 : product(x.dims()) / others;
  }
  return {reshape(x, dims)};
}

Terms flatten(const NodeSite& s) {
  const Term x = s[0];
  std::int64_t axis = s.integer("axis", 1);
  if (axis != x.rank()) axis = normal_axis(axis, x.rank());
  const auto split = static_cast<std::size_t>(axis);
  return {reshape(x, {product(x.dims(), 0, split), product(x.dims(), split)})};
}

Terms squeeze(const NodeSite& s) {
  const Term x = s[0];
  const auto axes = s.attribute_or_input("axes", 1);
  const Dims gone = normal_axes(axes.value_or(Dims()), x.rank());
  Dims dims;
  for (std::int64_t i = 0; i < x.rank(); ++i) {
    const bool drop = axes ? std::find(gone.begin(), gone.end(), i) != gone.end()
                           : x.dim(static_cast<std::size_t>(i)) == 1;
    if (!drop) dims.push_back(x.dim(static_cast<std::size_t>(i)));
  }
  return {reshape(x, dims)};
}

Terms unsqueeze(const NodeSite& s) {
  const Term x = s[0];
  const Dims given = s.attribute_or_input("axes", 1).value_or(Dims());
  Dims dims = x.dims();
  for (const std::int64_t axis :
       normal_axes(given, x.rank() + static_cast<std::int64_t>(given.size()))) {
    dims.insert(dims.begin() + axis, 1);
  }
  return {reshape(x, dims)};
}

Terms transpose_node(const NodeSite& s) {
  Dims reversed = range(0, s[0].rank());
  std::reverse(reversed.begin(), reversed.end());
  return {transpose(s[0], s.integers("perm").value_or(reversed))};
}

Terms expand(const NodeSite& s) {
  return {broadcast_to(s[0], broadcast_dims(s[0].dims(), s.need_known(1)))};
}

// [a, b] tiled by (m, n): to [m, a, n, b], then [m * a, n * b].
Terms tile(const NodeSite& s) {
  const Term x = s[0];
  const Dims repeats = s.need_known(1);
  if (repeats.size() != x.dims().size())
    throw Error(fmt::format("{} repeats for rank {}", repeats.size(), x.rank()));
  Dims dims, dimensions, result;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    dims.push_back(repeats[i]);
    dimensions.push_back(static_cast<std::int64_t>(dims.size()));
    dims.push_back(x.dim(i));
    result.push_back(product({repeats[i], x.dim(i)}));
  }
  return {reshape(broadcast_in(x, dims, dimensions), result)};
}

Terms concat(const NodeSite& s) {
  return {concatenate(s.inputs(), s.axis("axis", 1, s[0].rank()))};
}

Terms split(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t axis = s.axis("axis", 0, x.rank());
  const std::int64_t size = x.dim(static_cast<std::size_t>(axis));
  auto sizes = s.attribute_or_input("split", 1);
  if (!sizes) {
    const std::int64_t parts = s.node.output_size();
    const std::int64_t each = (size + parts - 1) / std::max<std::int64_t>(parts, 1);
    sizes = Dims(static_cast<std::size_t>(parts), each);
    if (parts > 0) sizes->back() = size - each * (parts - 1);
  }
  Terms results;
  std::int64_t begin = 0;
  for (const std::int64_t part : *sizes) {
    if (part < 0 || part > size - begin) {
      throw Error(
          fmt::format("parts of [{}] do not fit {} elements", fmt::join(*sizes, ","), size));
    }
    results.push_back(slice(x, axis, {begin, begin + part, 1}));
    begin += part;
  }
  return results;
}

// One axis of Slice: negative bounds count from the end; bounds are clamped to the axis.
Term sliced(Term x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t size = x.dim(static_cast<std::size_t>(axis));
  const auto bounded = [size](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  if (step > 0) {
    const std::int64_t from = bounded(start, 0, size), to = bounded(end, 0, size);
    return slice(x, axis, {from, std::max(from, to), step});
  }
  const std::int64_t from = bounded(start, -1, size - 1),
                     to = end < -size ? -1 : bounded(end, -1, size - 1);
  const Term turned =
      x.emitter->emit({.opcode = Opcode::kReverse, .operands = {x}, .dimensions = {axis}});
  const std::int64_t first = size - 1 - from;
  return slice(turned, axis,
               {first, std::max(first, size - 1 - to), step == INT64_MIN ? INT64_MAX : -step});
}

Terms slice_node(const NodeSite& s) {
  Term x = s[0];
  const bool by_input = s.version >= 10;
  const Dims starts = by_input ? s.need_known(1) : s.integers("starts").value_or(Dims());
  const Dims ends = by_input ? s.need_known(2) : s.integers("ends").value_or(Dims());
  auto axes = by_input ? s.known(3) : s.integers("axes");
  const Dims steps = s.known(4).value_or(Dims(starts.size(), 1));
  if (!axes) axes = range(0, static_cast<std::int64_t>(starts.size()));
  if (ends.size() != starts.size() || axes->size() != starts.size() ||
      steps.size() != starts.size()) {
    throw Error("starts, ends, axes and steps differ in length");
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) throw Error("a step is 0");
    x = sliced(x, normal_axis((*axes)[i], x.rank()), starts[i], ends[i], steps[i]);
  }
  return {x};
}

Terms shape_of(const NodeSite& s) {
  const Dims& dims = s[0].dims();
  const std::int64_t rank = s[0].rank();
  const auto place = [rank](std::int64_t at) {
    return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank);
  };
  const std::int64_t start = place(s.integer("start", 0)),
                     end = std::max(start, place(s.integer("end", rank)));
  return {integers(s.emitter, DType::kS64, Dims(dims.begin() + start, dims.begin() + end))};
}

Terms size_of(const NodeSite& s) {
  return {scalar(s.emitter, DType::kS64, static_cast<double>(product(s[0].dims())))};
}

Terms constant(const NodeSite& s) {
  const std::string name = s.gives(0) ? s.node.output(0) : "constant";
  if (const auto* value = s.find("value")) return {tensor_term(s.emitter, value->t(), name)};
  if (const auto* value = s.find("value_int"))
    return {scalar(s.emitter, DType::kS64, static_cast<double>(value->i()))};
  if (const auto* value = s.find("value_float"))
    return {scalar(s.emitter, DType::kF32, value->f())};
  if (const auto ints = s.integers("value_ints")) return {integers(s.emitter, DType::kS64, *ints)};
  if (const auto* value = s.find("value_floats")) {
    Numbers numbers(value->floats().begin(), value->floats().end());
    const Shape shape = Shape::array(DType::kF32, {value->floats_size()});
    if (value->floats_size() > kMostFolded) return {s.emitter.weight(shape, name)};
    return {s.emitter.constant(shape, std::move(numbers), name)};
  }
  throw Error("a constant of strings or sparse values has no counterpart in HLO");
}

// Large ones represent weights (a compiler would store them), small ones are known numbers.
Terms constant_of_shape(const NodeSite& s) {
  const auto* value = s.find("value");
  const DType dtype = value == nullptr ? DType::kF32 : element_type(value->t().data_type());
  const auto numbers = value == nullptr ? Numbers{0} : tensor_numbers(value->t());
  const Shape shape = Shape::array(dtype, s.need_known(0));
  for (const std::int64_t size : shape.dims) {
    if (size < 0) throw Error("a size is negative");
  }
  const std::string name = s.gives(0) ? s.node.output(0) : "constant";
  if (element_count(shape) > kMostFolded || !numbers || numbers->size() != 1) {
    return {s.emitter.weight(shape, name)};
  }
  return {s.emitter.constant(
      shape, Numbers(static_cast<std::size_t>(element_count(shape)), numbers->at(0)), name)};
}

Terms range_node(const NodeSite& s) {
  const double start = s.known_numbers(0).value_or(Numbers()).at(0),
               limit = s.known_numbers(1).value_or(Numbers()).at(0),
               delta = s.known_numbers(2).value_or(Numbers()).at(0);
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count < 0x1p53)) throw Error("the range does not end");
  const Term steps = iota(s.emitter, s[0].dtype(), {static_cast<std::int64_t>(count)}, 0);
  return {steps * s[2] + s[0]};
}

Terms eye_like(const NodeSite& s) {
  const DType dtype =
      s.find("dtype") != nullptr ? element_type(s.integer("dtype", 1)) : s[0].dtype();
  const Dims dims = s[0].dims();
  const Term rows = iota(s.emitter, DType::kS32, dims, 0),
             columns = iota(s.emitter, DType::kS32, dims, 1);
  return {convert(compare("EQ", rows + static_cast<double>(s.integer("k", 0)), columns), dtype)};
}

Terms triangle(const NodeSite& s) {
  const Term x = s[0];
  const double k = s.has(1) ? static_cast<double>(s.need_known(1).at(0)) : 0;
  const std::int64_t rows_axis = normal_axis(-2, x.rank());
  const Term rows = iota(s.emitter, DType::kS32, x.dims(), rows_axis);
  const Term columns = iota(s.emitter, DType::kS32, x.dims(), rows_axis + 1);
  const bool upper = s.integer("upper", 1) != 0;
  return {select(compare(upper ? "LE" : "GE", rows + k, columns), x, like(x, 0))};
}

// [n, c, h, w] <-> [n, c / b^2, h * b, w * b].
Terms depth_to_space(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t b = std::clamp<std::int64_t>(s.integer("blocksize", 1), 1, 1 << 20);
  const Dims& d = x.dims();
  if (d.size() != 4) throw Error("expects rank 4");
  const std::int64_t c = d[1] / (b * b);
  const bool columns_first = s.text("mode", "DCR") == "CRD";
  const Term split = columns_first
                         ? transpose(reshape(x, {d[0], c, b, b, d[2], d[3]}), {0, 1, 4, 2, 5, 3})
                         : transpose(reshape(x, {d[0], b, b, c, d[2], d[3]}), {0, 3, 4, 1, 5, 2});
  return {reshape(split, {d[0], c, product({d[2], b}), product({d[3], b})})};
}
Terms space_to_depth(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t b = std::clamp<std::int64_t>(s.integer("blocksize", 1), 1, 1 << 20);
  const Dims& d = x.dims();
  if (d.size() != 4) throw Error("expects rank 4");
  const Term split =
      transpose(reshape(x, {d[0], d[1], d[2] / b, b, d[3] / b, b}), {0, 3, 5, 1, 2, 4});
  return {reshape(split, {d[0], product({d[1], b, b}), d[2] / b, d[3] / b})};
}

Terms random(const NodeSite& s) {
  const bool like_input = s.count() > 0;
  const DType fallback = like_input && is_floating(s[0].dtype()) ? s[0].dtype() : DType::kF32;
  const DType dtype = s.find("dtype") != nullptr ? element_type(s.integer("dtype", 1)) : fallback;
  const bool normal = s.node.op_type().starts_with("RandomNormal");
  const double first = normal ? s.number("mean", 0) : s.number("low", 0);
  const double second = normal ? s.number("scale", 1) : s.number("high", 1);
  return {s.emitter.emit(
      {.opcode = Opcode::kRng,
       .operands = {scalar(s.emitter, dtype, first), scalar(s.emitter, dtype, second)},
       .shape =
           Shape::array(dtype, like_input ? s[0].dims() : s.integers("shape").value_or(Dims())),
       .raw = {{"distribution", normal ? "rng_normal" : "rng_uniform"}}})};
}

constexpr OpRow kMovement[] = {
    {"Identity", same},
    {"Dropout", dropout},
    {"Reshape", reshape_node},
    {"Flatten", flatten},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Transpose", transpose_node},
    {"Expand", expand},
    {"Tile", tile},
    {"Concat", concat},
    {"Split", split},
    {"Slice", slice_node},
    {"Shape", shape_of},
    {"Size", size_of},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Range", range_node},
    {"EyeLike", eye_like},
    {"Trilu", triangle},
    {"com.microsoft:Trilu", triangle},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", space_to_depth},
    {"RandomNormal", random},
    {"RandomNormalLike", random},
    {"RandomUniform", random},
    {"RandomUniformLike", random},
};

}  // namespace

std::span<const OpRow> movement_rows() {
  return kMovement;
}

}  // namespace tilecast::ir::onnx_reader
