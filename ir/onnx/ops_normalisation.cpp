// Reductions and normalisations: softmax, batch, layer, instance and group norm, losses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/onnx/products.h"

namespace tilecast::ir::onnx_reader {
namespace {

Term squared(Term x) {
  return x * x;
}
Term root(Term x) {
  return unary(Opcode::kSqrt, x);
}
Term inverse_root(Term x) {
  return unary(Opcode::kRsqrt, x);
}
Term exponentials(Term x) {
  return unary(Opcode::kExp, x);
}
Term logarithm(Term x) {
  return unary(Opcode::kLog, x);
}
Term magnitude(Term x) {
  return unary(Opcode::kAbs, x);
}

// Axes by attribute, or by input 1 (ReduceSum from version 13, the others from 18).
std::optional<Dims> reduced_axes(const NodeSite& s) {
  auto axes = s.attribute_or_input("axes", 1);
  if (!axes || axes->empty()) {
    if (s.flag("noop_with_empty_axes")) return std::nullopt;
    return range(0, s[0].rank());
  }
  return normal_axes(*axes, s[0].rank());
}

using Map = Term (*)(Term);
template <Opcode opcode, Map before = nullptr, Map after = nullptr>
Terms reduction(const NodeSite& s) {
  const auto axes = reduced_axes(s);
  Term x = s[0];
  if (before != nullptr) x = before(x);
  if (axes) x = reduce(opcode, x, *axes, s.integer("keepdims", 1) != 0);
  if (after != nullptr) x = after(x);
  return {x};
}

Terms reduce_mean(const NodeSite& s) {
  const auto axes = reduced_axes(s);
  if (!axes) return {s[0]};
  double count = 1;
  for (const std::int64_t axis : *axes)
    count *= static_cast<double>(s[0].dim(static_cast<std::size_t>(axis)));
  return {reduce(Opcode::kAdd, s[0], *axes, s.integer("keepdims", 1) != 0) / count};
}

Terms reduce_log_sum_exp(const NodeSite& s) {
  const auto axes = reduced_axes(s);
  if (!axes) return {s[0]};
  const Term high = reduce(Opcode::kMaximum, s[0], *axes, /*keep=*/true);
  const Term sums = reduce(Opcode::kAdd, exponentials(s[0] - high), *axes, /*keep=*/true);
  const Term y = logarithm(sums) + high;
  if (s.integer("keepdims", 1) != 0) return {y};
  Dims dims;
  for (std::int64_t i = 0; i < s[0].rank(); ++i) {
    if (std::find(axes->begin(), axes->end(), i) == axes->end())
      dims.push_back(s[0].dim(static_cast<std::size_t>(i)));
  }
  return {reshape(y, dims)};
}

Term log_softmax(Term x, const Dims& axes) {
  const Term shifted = x - reduce(Opcode::kMaximum, x, axes, /*keep=*/true);
  return shifted - logarithm(reduce(Opcode::kAdd, exponentials(shifted), axes, /*keep=*/true));
}
Term softmax(Term x, const Dims& axes) {
  const Term powers = exponentials(x - reduce(Opcode::kMaximum, x, axes, /*keep=*/true));
  return powers / reduce(Opcode::kAdd, powers, axes, /*keep=*/true);
}

// Before version 13, softmax is over all axes from `axis` on.
template <Term (*apply)(Term, const Dims&)>
Terms softmax_node(const NodeSite& s) {
  const bool one_axis = s.version >= 13;
  const std::int64_t axis = s.axis("axis", one_axis ? -1 : 1, s[0].rank());
  return {apply(s[0], one_axis ? Dims{axis} : range(axis, s[0].rank()))};
}

Term index_of_largest(Term x, std::int64_t axis, const char* direction, bool last) {
  Emitter& emitter = *x.emitter;
  const Term places = iota(emitter, DType::kS64, x.dims(), axis);
  const std::string name =
      fmt::format("arg_{}{}_{}", direction, last ? "_last" : "", ir::name(x.dtype()));
  const Shape value = Shape::array(x.dtype(), {}), place = Shape::array(DType::kS64, {});
  const auto better = [&](Emitter&, const Terms& p) -> Terms {
    const Term nearer = compare(last ? "GT" : "LT", p[1], p[3]);
    const Term ties = binary(Opcode::kAnd, compare("EQ", p[0], p[2]), nearer);
    const Term wins = binary(Opcode::kOr, compare(direction, p[0], p[2]), ties);
    return {select(wins, p[0], p[2]), select(wins, p[1], p[3])};
  };
  const ComputationId reducer = emitter.reduction(name, {value, place, value, place}, better);
  const double worst = lowest(x.dtype(), /*highest=*/direction[0] == 'L');
  const Term both = emitter.emit({.opcode = Opcode::kReduce,
                                  .operands = {x, places, like(x, worst), like(places, 0)},
                                  .dimensions = {axis},
                                  .called = {reducer}});
  return elements_of(both)[1];
}

template <const char* direction>
Terms arg_reduction(const NodeSite& s) {
  const std::int64_t axis = s.axis("axis", 0, s[0].rank());
  const Term found = index_of_largest(s[0], axis, direction, s.flag("select_last_index"));
  Dims kept = s[0].dims();
  kept[static_cast<std::size_t>(axis)] = 1;
  return {s.integer("keepdims", 1) != 0 ? reshape(found, kept) : found};
}
constexpr char kLargest[] = "GT", kSmallest[] = "LT";

Terms hardmax(const NodeSite& s) {
  const Term x = s[0];
  const bool one_axis = s.version >= 13;
  const std::int64_t axis = s.axis("axis", one_axis ? -1 : 1, x.rank());
  const auto at = static_cast<std::size_t>(axis);
  const Term flat = one_axis ? x : reshape(x, {product(x.dims(), 0, at), product(x.dims(), at)});
  const std::int64_t over = one_axis ? axis : 1;
  Dims kept = flat.dims();
  kept.at(static_cast<std::size_t>(over)) = 1;
  const Term place = reshape(index_of_largest(flat, over, kLargest, false), kept);
  return {reshape(
      convert(compare("EQ", iota(s.emitter, DType::kS64, flat.dims(), over), place), x.dtype()),
      x.dims())};
}

// Inputs x, scale, bias, mean, variance; in training mode also the running statistics are computed.
Terms batch_norm(const NodeSite& s) {
  const Term x = s[0];
  const double epsilon = s.number("epsilon", 1e-5), momentum = s.number("momentum", 0.9);
  const auto channels = [&](Term vector) { return along(vector, x, std::min(1, x.rank() - 1)); };
  if (!(s.version >= 14 ? s.flag("training_mode") : s.gives(1))) {
    const Term factor = s[1] * inverse_root(s[4] + epsilon);  // one multiply-add per element
    return {x * channels(factor) + channels(s[2] - s[3] * factor)};
  }
  Dims axes = range(0, of_rank(x, 2).rank());
  axes.erase(axes.begin() + 1);
  const Dims vector = {x.dim(1)};
  const Term average = mean(x, axes);
  const Term centred = x - average;
  const Term spread = mean(squared(centred), axes);
  const Term y = centred * inverse_root(spread + epsilon) * channels(s[1]) + channels(s[2]);
  const auto running = [&](Term old, Term now) {
    return old * momentum + reshape(now, vector) * (1 - momentum);
  };
  Terms results = {y, running(s[3], average), running(s[4], spread)};
  if (s.gives(3))
    results.insert(results.end(), {reshape(average, vector), reshape(spread, vector)});
  return results;
}

// Computed in at least f32, according to stash_type.
struct Standardised {
  Term y, average, inverse;
};
Standardised standardised(Term x, const Dims& axes, double epsilon) {
  const DType dtype = bits(x.dtype()) < 32 ? DType::kF32 : x.dtype();
  const Term wide = convert(x, dtype);
  const Term average = mean(wide, axes), centred = wide - average;
  const Term inverse = inverse_root(mean(squared(centred), axes) + epsilon);
  return {convert(centred * inverse, x.dtype()), average, inverse};
}

Terms layer_norm(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t axis = s.axis("axis", -1, x.rank());
  const auto made = standardised(x, range(axis, x.rank()), s.number("epsilon", 1e-5));
  Term y = made.y * s[1];
  if (s.has(2)) y = y + s[2];
  return {y, made.average, made.inverse};
}

Term root_mean_square(Term x, const Dims& axes, double epsilon) {
  const DType dtype = bits(x.dtype()) < 32 ? DType::kF32 : x.dtype();
  const Term wide = convert(x, dtype);
  return convert(wide * inverse_root(mean(squared(wide), axes) + epsilon), x.dtype());
}

Terms rms_norm(const NodeSite& s) {
  const std::int64_t axis = s.axis("axis", -1, s[0].rank());
  return {root_mean_square(s[0], range(axis, s[0].rank()), s.number("epsilon", 1e-5)) * s[1]};
}

// com.microsoft: input, skip, gamma, beta, bias; output 3 is the sum. Simplified: no beta.
template <bool simplified>
Terms skip_norm(const NodeSite& s) {
  const std::size_t bias = simplified ? 3 : 4;
  Term sum = s[0] + s[1];
  if (s.has(bias)) sum = sum + s[bias];
  const Dims last = {sum.rank() - 1};
  const double epsilon = s.number("epsilon", simplified ? 1e-6 : 1e-12);
  Term y =
      (simplified ? root_mean_square(sum, last, epsilon) : standardised(sum, last, epsilon).y) *
      s[2];
  if (!simplified && s.has(3)) y = y + s[3];
  if (s.gives(1) || s.gives(2))
    throw Error("mean and deviation of a skip norm have no mapping onto HLO");
  return {y, y, y, sum};
}

Terms instance_norm(const NodeSite& s) {
  const Term x = s[0];
  const Term y = standardised(x, range(2, x.rank()), s.number("epsilon", 1e-5)).y;
  return {y * along(s[1], x, 1) + along(s[2], x, 1)};
}

// Scale and bias are per group before version 21, per channel since.
Terms group_norm(const NodeSite& s) {
  const Term x = s[0];
  const std::int64_t groups = s.integer("num_groups", s.integer("groups", 1));
  if (groups < 1) throw Error("num_groups is not positive");
  Dims split = x.dims();
  split.at(1) = x.dim(1) / groups;
  split.insert(split.begin() + 1, groups);
  const Term grouped =
      standardised(reshape(x, split), range(2, x.rank() + 1), s.number("epsilon", 1e-5)).y;
  if (s[1].dim(0) == groups && groups != x.dim(1)) {
    return {reshape(grouped * along(s[1], grouped, 1) + along(s[2], grouped, 1), x.dims())};
  }
  const Term y = reshape(grouped, x.dims());
  return {y * along(s[1], x, 1) + along(s[2], x, 1)};
}

Terms lp_norm(const NodeSite& s) {
  const Dims axis = {s.axis("axis", -1, s[0].rank())};
  if (s.integer("p", 2) == 1)
    return {s[0] / reduce(Opcode::kAdd, magnitude(s[0]), axis, /*keep=*/true)};
  return {s[0] / root(reduce(Opcode::kAdd, squared(s[0]), axis, /*keep=*/true))};
}

constexpr OpRow kNormalisation[] = {
    {"ReduceSum", reduction<Opcode::kAdd>},
    {"ReduceProd", reduction<Opcode::kMultiply>},
    {"ReduceMax", reduction<Opcode::kMaximum>},
    {"ReduceMin", reduction<Opcode::kMinimum>},
    {"ReduceSumSquare", reduction<Opcode::kAdd, squared>},
    {"ReduceL1", reduction<Opcode::kAdd, magnitude>},
    {"ReduceL2", reduction<Opcode::kAdd, squared, root>},
    {"ReduceLogSum", reduction<Opcode::kAdd, nullptr, logarithm>},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceMean", reduce_mean},
    {"ArgMax", arg_reduction<kLargest>},
    {"ArgMin", arg_reduction<kSmallest>},
    {"Softmax", softmax_node<softmax>},
    {"LogSoftmax", softmax_node<log_softmax>},
    {"Hardmax", hardmax},
    {"BatchNormalization", batch_norm},
    {"LayerNormalization", layer_norm},
    {"InstanceNormalization", instance_norm},
    {"GroupNormalization", group_norm},
    {"RMSNormalization", rms_norm},
    {"SimplifiedLayerNormalization", rms_norm},
    {"LpNormalization", lp_norm},
    {"com.microsoft:SimplifiedLayerNormalization", rms_norm},
    {"com.microsoft:SkipLayerNormalization", skip_norm<false>},
    {"com.microsoft:SkipSimplifiedLayerNormalization", skip_norm<true>},
};

}  // namespace

Term scaled_softmax(Term x, std::int64_t axis) {
  return softmax(x, {axis});
}

std::span<const OpRow> normalisation_rows() {
  return kNormalisation;
}

}  // namespace tilecast::ir::onnx_reader
