#include "tests/host/random_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tilecast::host {

using ir::Dims;
using ir::DType;

bool is_float(DType dtype) {
  return ir::is_floating(dtype);
}

Range type_range(DType dtype) {
  if (dtype == DType::kPred) return {0, 1};
  const int bits = ir::bits(dtype);
  if (ir::is_signed_integer(dtype)) return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
  return {0, std::ldexp(1, bits) - 1};
}

Range joined(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

std::string dimensions_text(const Dims& dims) {
  return fmt::format(", dimensions={{{}}}", join(dims));
}

int RandomOps::pick(int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random_);
}

bool RandomOps::chance(int percent) {
  return pick(1, 100) <= percent;
}

DType RandomOps::random_type() {
  static const std::vector<std::pair<DType, int>> kShares = {
      {DType::kF32, 42}, {DType::kBF16, 16}, {DType::kF16, 9}, {DType::kF64, 8},
      {DType::kS32, 11}, {DType::kS8, 6},    {DType::kU8, 5},  {DType::kPred, 3}};
  int left = pick(1, 100);
  for (const auto& [dtype, share] : kShares) {
    left -= share;
    if (left <= 0) return dtype;
  }
  return DType::kF32;
}

Dims RandomOps::random_dims(int lowest_rank, int highest_rank) {
  static const std::vector<int> kSizes = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 40};
  Dims dims;
  std::int64_t room = most_elements_;
  for (int rank = pick(lowest_rank, highest_rank); rank > 0; --rank) {
    const std::int64_t size = chance(50) ? any(kSizes) : pick(1, 40);
    dims.push_back(std::clamp<std::int64_t>(size, 1, room));
    room /= dims.back();
  }
  return dims;
}

NodeId RandomOps::add(const std::string& opcode, DType dtype, Dims dims,
                      std::vector<NodeId> operands, Range range, std::string attributes) {
  return graph_.add({.dtype = dtype,
                     .dims = std::move(dims),
                     .range = range,
                     .opcode = opcode,
                     .attributes = std::move(attributes),
                     .operands = std::move(operands)});
}

NodeId RandomOps::parameter(DType dtype, const Dims& dims) {
  Range range = type_range(dtype);
  if (is_float(dtype)) {
    static const std::vector<Range> kRanges = {{0.25, 1.25}, {-1, 1}, {-2.5, -0.5}, {0.5, 3}};
    range = chance(60) ? kRanges[0] : kRanges[static_cast<std::size_t>(pick(1, 3))];
  } else if (chance(70)) {
    range = {std::max(range.low, -100.0), std::min(range.high, 100.0)};
  }
  const NodeId id = add("parameter", dtype, dims, {}, range);
  if (dims.size() > 1 && chance(25)) graph_.at(id).minor_to_major = shuffled(dims.size());
  return id;
}

NodeId RandomOps::scalar(DType dtype, double value) {
  const NodeId id = add("constant", dtype, {}, {}, {value, value});
  graph_.at(id).literal = fmt::format("{}", value);
  return id;
}

NodeId RandomOps::spread(NodeId scalar, const Dims& dims) {
  const Node& node = graph_.at(scalar);
  if (dims.empty()) return scalar;
  return add("broadcast", node.dtype, dims, {scalar}, node.range, ", dimensions={}");
}

NodeId RandomOps::same(const std::string& opcode, NodeId x, std::vector<NodeId> others,
                       Range range) {
  others.insert(others.begin(), x);
  const Node& node = graph_.at(x);
  return add(opcode, node.dtype, node.dims, std::move(others), range);
}

Dims RandomOps::shuffled(std::size_t count) {
  Dims order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  return order;
}

NodeId RandomOps::tame(NodeId x) {
  const Node& node = graph_.at(x);
  if (!is_float(node.dtype)) return x;
  const double most = node.dtype == DType::kF16 ? 64 : 4096;
  const double size = std::max(std::abs(node.range.low), std::abs(node.range.high));
  if (size <= most) return x;
  const double scale = std::exp2(-std::ceil(std::log2(size)));
  const Range range{node.range.low * scale, node.range.high * scale};
  const NodeId factor = spread(scalar(node.dtype, scale), Dims(node.dims));
  return same("multiply", x, {factor}, range);
}

NodeId RandomOps::like(NodeId x) {
  const DType dtype = graph_.at(x).dtype;
  const Dims dims = graph_.at(x).dims;
  std::vector<NodeId> others;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_.at(id).dtype == dtype && graph_.at(id).dims == dims) others.push_back(id);
  }
  const int way = pick(1, 100);
  if (way <= 35) return any(others);
  if (way <= 60 || dims.empty()) return parameter(dtype, dims);
  if (way <= 75) return spread(scalar(dtype, dtype == DType::kPred ? 1 : pick(1, 4)), dims);
  if (way <= 82 && dtype != DType::kPred) {
    const int dim = pick(0, static_cast<int>(dims.size()) - 1);
    return add("iota", dtype, dims, {},
               {0, static_cast<double>(dims[static_cast<std::size_t>(dim)] - 1)},
               fmt::format(", iota_dimension={}", dim));
  }
  Dims kept, sizes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (chance(50)) continue;
    kept.push_back(static_cast<std::int64_t>(d));
    sizes.push_back(dims[d]);
  }
  const NodeId small = parameter(dtype, sizes);
  return add("broadcast", dtype, dims, {small}, graph_.at(small).range, dimensions_text(kept));
}

namespace {

struct FloatFunction {
  const char* opcode;
  Range domain;
  double (*function)(double);  // monotone over the domain, or nullptr
  Range image;                 // if it is not
};

constexpr double kAny = 1e30;

double rsqrt(double x) {
  return 1 / std::sqrt(x);
}
double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double negated(double x) {
  return -x;
}

const std::vector<FloatFunction>& float_functions() {
  static const std::vector<FloatFunction> kAll = {
      {"negate", {-kAny, kAny}, negated, {}},
      {"exponential", {-20, 4}, std::exp, {}},
      {"exponential-minus-one", {-20, 4}, std::expm1, {}},
      {"log", {0.05, kAny}, std::log, {}},
      {"log-plus-one", {-0.5, kAny}, std::log1p, {}},
      {"sqrt", {0.01, kAny}, std::sqrt, {}},
      {"rsqrt", {0.05, kAny}, rsqrt, {}},
      {"cbrt", {0.05, kAny}, std::cbrt, {}},
      {"tanh", {-kAny, kAny}, std::tanh, {}},
      {"logistic", {-60, 60}, logistic, {}},
      {"erf", {-kAny, kAny}, std::erf, {}},
      {"tan", {-1, 1}, std::tan, {}},
      {"floor", {-kAny, kAny}, std::floor, {}},
      {"ceil", {-kAny, kAny}, std::ceil, {}},
      {"round-nearest-even", {-kAny, kAny}, std::nearbyint, {}},
      {"round-nearest-afz", {-kAny, kAny}, std::round, {}},
      {"sine", {-50, 50}, nullptr, {-1, 1}},
      {"cosine", {-50, 50}, nullptr, {-1, 1}},
      {"sign", {-kAny, kAny}, nullptr, {-1, 1}},
  };
  return kAll;
}

Range magnitude(const Range& range) {
  const double a = std::abs(range.low), b = std::abs(range.high);
  const bool crosses = range.low <= 0 && range.high >= 0;
  return {crosses ? 0 : std::min(a, b), std::max(a, b)};
}

Range of_corners(const Range& a, const Range& b, const std::function<double(double, double)>& f) {
  const std::vector<double> all = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low),
                                   f(a.high, b.high)};
  return {*std::min_element(all.begin(), all.end()), *std::max_element(all.begin(), all.end())};
}

}  // namespace

NodeId RandomOps::unary(NodeId x) {
  const DType dtype = graph_.at(x).dtype;
  const Range range = graph_.at(x).range;
  if (dtype == DType::kPred) return same("not", x, {}, {0, 1});
  if (!is_float(dtype)) {
    static const std::vector<const char*> kSigned = {"negate", "abs",    "sign",
                                                     "not",    "popcnt", "count-leading-zeros"};
    static const std::vector<const char*> kUnsigned = {"not", "popcnt", "count-leading-zeros"};
    const auto& all = ir::is_signed_integer(dtype) ? kSigned : kUnsigned;
    return same(any(all), x, {}, type_range(dtype));
  }
  if (chance(10)) return same("abs", x, {}, magnitude(range));
  const auto& all = float_functions();
  const FloatFunction& chosen = any(all);
  if (range.low < chosen.domain.low || range.high > chosen.domain.high) return x;
  Range image = chosen.image;
  if (chosen.function != nullptr) {
    const double a = chosen.function(range.low), b = chosen.function(range.high);
    image = {std::min(a, b), std::max(a, b)};
  }
  return same(chosen.opcode, x, {}, image);
}

NodeId RandomOps::binary(NodeId x) {
  const NodeId y = like(x);
  const DType dtype = graph_.at(x).dtype;
  const Range a = graph_.at(x).range, b = graph_.at(y).range;
  if (dtype == DType::kPred) return same(any<std::string>({"and", "or", "xor"}), x, {y}, {0, 1});
  if (!is_float(dtype)) {
    return same(any<std::string>({"add", "subtract", "multiply", "maximum", "minimum", "divide",
                                  "remainder", "and", "or", "xor", "shift-left",
                                  "shift-right-logical", "shift-right-arithmetic"}),
                x, {y}, type_range(dtype));
  }
  const std::string opcode =
      any<std::string>({"add", "add", "subtract", "multiply", "multiply", "maximum", "minimum",
                        "divide", "power", "remainder", "atan2"});
  if (opcode == "add") return tame(same(opcode, x, {y}, {a.low + b.low, a.high + b.high}));
  if (opcode == "subtract") return tame(same(opcode, x, {y}, {a.low - b.high, a.high - b.low}));
  if (opcode == "multiply")
    return tame(same(opcode, x, {y}, of_corners(a, b, std::multiplies<>())));
  if (opcode == "maximum" || opcode == "minimum") return same(opcode, x, {y}, joined(a, b));
  const double least = magnitude(b).low;
  if (opcode == "divide" && least > 0.1) {
    return tame(same(opcode, x, {y}, of_corners(a, b, std::divides<>())));
  }
  if (opcode == "remainder" && least > 0.1) {
    return same(opcode, x, {y}, {-magnitude(b).high, magnitude(b).high});
  }
  if (opcode == "power" && a.low > 0.1 && a.high < 4 && magnitude(b).high < 4) {
    return tame(
        same(opcode, x, {y}, of_corners(a, b, [](double p, double q) { return std::pow(p, q); })));
  }
  if (opcode == "atan2" && b.low > 0.1) return same(opcode, x, {y}, {-1.6, 1.6});
  return x;
}

NodeId RandomOps::choose(NodeId x) {
  static const std::vector<const char*> kDirections = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  const NodeId y = like(x);
  const Dims dims = graph_.at(x).dims;
  const std::string direction = any(kDirections);
  const NodeId test =
      add("compare", DType::kPred, dims, {x, y}, {0, 1}, ", direction=" + direction);
  if (chance(15)) return test;
  const NodeId other = like(x);
  const Range range = joined(graph_.at(x).range, graph_.at(other).range);
  const NodeId first = chance(50) ? x : other;
  return add("select", graph_.at(x).dtype, dims, {test, first, first == x ? other : x}, range);
}

NodeId RandomOps::clamp(NodeId x) {
  const DType dtype = graph_.at(x).dtype;
  const Dims dims = graph_.at(x).dims;
  if (dtype == DType::kPred) return x;
  const Range range = is_float(dtype) ? Range{0.5, 2} : Range{2, 90};
  return add("clamp", dtype, dims,
             {spread(scalar(dtype, range.low), dims), x, spread(scalar(dtype, range.high), dims)},
             range);
}

NodeId RandomOps::convert(NodeId x) {
  const DType from = graph_.at(x).dtype;
  Range range = graph_.at(x).range;
  static const std::vector<DType> kOthers = {DType::kS16, DType::kU32, DType::kS64, DType::kU16};
  const DType to = chance(90) ? random_type() : any(kOthers);
  if (to == from) return x;
  if (!is_float(to)) {
    const Range limits = type_range(to);
    const bool fits = range.low >= limits.low && range.high <= limits.high;
    range =
        fits && to != DType::kPred ? Range{std::floor(range.low), std::ceil(range.high)} : limits;
  }
  return tame(add("convert", to, graph_.at(x).dims, {x}, range));
}

NodeId RandomOps::pointwise(NodeId x) {
  const int way = pick(1, 100);
  if (way <= 40) return tame(unary(x));
  if (way <= 78) return binary(x);
  if (way <= 88) return choose(x);
  if (way <= 92) return clamp(x);
  return convert(x);
}

NodeId RandomOps::prologue(NodeId x) {
  for (int n = pick(0, 2); n > 0; --n) x = tame(unary(x));
  if (chance(15)) x = choose(x);
  if (chance(15)) x = binary(x);
  return x;
}

// --- Random ops that move elements.

namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}
}  // namespace

NodeId RandomOps::broadcast(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.size() > 3) return x;
  Dims dims = node.dims, dimensions;
  const auto place = at(pick(0, static_cast<int>(dims.size())));
  const std::int64_t room = most_elements_ / std::max<std::int64_t>(elements(dims), 1);
  const std::int64_t size =
      std::clamp<std::int64_t>(pick(1, 40), 1, std::max<std::int64_t>(room, 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(place), size);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (d != place) dimensions.push_back(static_cast<std::int64_t>(d));
  }
  return add("broadcast", node.dtype, dims, {x}, node.range, dimensions_text(dimensions));
}

NodeId RandomOps::reshape(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return add("reshape", node.dtype, Dims(1, 1), {x}, node.range);
  Dims dims = node.dims;
  if (dims.size() > 1 && chance(50)) {  // merge two neighbours
    const auto d = at(pick(0, static_cast<int>(dims.size()) - 2));
    dims[d] *= dims[d + 1];
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  } else if (dims.size() < 5) {  // split one
    const auto d = at(pick(0, static_cast<int>(dims.size()) - 1));
    std::vector<std::int64_t> divisors;
    for (std::int64_t k = 1; k <= dims[d]; ++k) {
      if (dims[d] % k == 0) divisors.push_back(k);
    }
    const std::int64_t first = any(divisors);
    dims[d] /= first;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), first);
  }
  return add("reshape", node.dtype, dims, {x}, node.range);
}

NodeId RandomOps::transpose(NodeId x) {
  const Node node = graph_.at(x);
  const Dims order = shuffled(node.dims.size());
  Dims dims;
  for (const std::int64_t d : order) dims.push_back(node.dims[at(d)]);
  return add("transpose", node.dtype, dims, {x}, node.range, dimensions_text(order));
}

NodeId RandomOps::slice(NodeId x) {
  const Node node = graph_.at(x);
  Dims dims;
  std::string ranges;
  for (const std::int64_t size : node.dims) {
    const auto last = static_cast<int>(size) - 1;
    const bool whole = chance(35);
    const int start = whole ? 0 : pick(0, last / 2);
    const int limit = whole ? last + 1 : pick(start + 1, last + 1);
    const int stride = chance(70) ? 1 : pick(2, 3);
    dims.push_back((limit - start + stride - 1) / stride);
    ranges += fmt::format("{}[{}:{}:{}]", ranges.empty() ? "" : ", ", start, limit, stride);
  }
  return add("slice", node.dtype, dims, {x}, node.range, ", slice={" + ranges + "}");
}

NodeId RandomOps::pad(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return x;
  const bool cuts = chance(15);
  Dims dims;
  std::string edges;
  for (const std::int64_t size : node.dims) {
    const bool none = chance(40);
    const int low = none ? 0 : pick(cuts ? -1 : 0, 3), high = none ? 0 : pick(cuts ? -1 : 0, 3);
    const int interior = none || chance(75) ? 0 : pick(1, 2);
    const std::int64_t padded = size + low + high + (size - 1) * interior;
    if (padded < 1) return x;
    dims.push_back(padded);
    edges += fmt::format("{}{}_{}_{}", edges.empty() ? "" : "x", low, high, interior);
  }
  if (elements(dims) > 2 * most_elements_) return x;
  const double value = node.dtype == DType::kPred ? 1 : chance(50) ? 0 : 1;
  const NodeId padding = chance(80) ? scalar(node.dtype, value) : parameter(node.dtype, {});
  const Range range = joined(node.range, graph_.at(padding).range);
  return add("pad", node.dtype, dims, {x, padding}, range, ", padding=" + edges);
}

NodeId RandomOps::concatenate(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty() || elements(node.dims) > most_elements_) return x;
  const int dim = pick(0, static_cast<int>(node.dims.size()) - 1);
  std::vector<NodeId> parts = {x};
  Dims dims = node.dims;
  Range range = node.range;
  for (int n = pick(1, 2); n > 0; --n) {
    NodeId other = like(x);
    if (chance(40)) {
      Dims sizes = node.dims;
      sizes[at(dim)] = pick(1, 9);
      other = parameter(node.dtype, sizes);
    }
    dims[at(dim)] += graph_.at(other).dims[at(dim)];
    range = joined(range, graph_.at(other).range);
    parts.insert(chance(50) ? parts.begin() : parts.end(), other);
  }
  return add("concatenate", node.dtype, dims, parts, range, dimensions_text({dim}));
}

NodeId RandomOps::reverse(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return x;
  return add("reverse", node.dtype, node.dims, {x}, node.range,
             dimensions_text(random_subset(static_cast<int>(node.dims.size()))));
}

// A transpose without movement: the layout changes with the dimensions.
NodeId RandomOps::bitcast(NodeId x) {
  const Node node = graph_.at(x);
  const Dims order = shuffled(node.dims.size());
  Dims dims, minor_to_major;
  for (const std::int64_t d : order) dims.push_back(node.dims[at(d)]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t from = node.minor_to_major.empty()
                                  ? static_cast<std::int64_t>(order.size() - 1 - i)
                                  : node.minor_to_major[i];
    minor_to_major.push_back(std::find(order.begin(), order.end(), from) - order.begin());
  }
  const NodeId id = add("bitcast", node.dtype, dims, {x}, node.range);
  graph_.at(id).minor_to_major = minor_to_major;
  return id;
}

NodeId RandomOps::move(NodeId x) {
  switch (pick(0, 11)) {
    case 0:
    case 1:
      return broadcast(x);
    case 2:
    case 3:
      return reshape(x);
    case 4:
    case 5:
      return transpose(x);
    case 6:
      return slice(x);
    case 7:
      return pad(x);
    case 8:
      return concatenate(x);
    case 9:
      return reverse(x);
    case 10:
      return bitcast(x);
    default: {
      const Node node = graph_.at(x);
      return add("copy", node.dtype, node.dims, {x}, node.range);
    }
  }
}

// A scalar start index, sometimes out of range.
NodeId RandomOps::index(std::int64_t last) {
  if (chance(40)) return scalar(DType::kS32, static_cast<double>(pick(0, static_cast<int>(last))));
  const NodeId id = add("parameter", DType::kS32, {}, {}, {-2, static_cast<double>(last) + 2});
  return id;
}

NodeId RandomOps::dynamic_slice(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return x;
  std::vector<NodeId> operands = {x};
  Dims sizes;
  for (const std::int64_t size : node.dims) {
    sizes.push_back(chance(40) ? size : pick(1, static_cast<int>(size)));
    operands.push_back(index(size - sizes.back()));
  }
  return add("dynamic-slice", node.dtype, sizes, operands, node.range,
             fmt::format(", dynamic_slice_sizes={{{}}}", join(sizes)));
}

NodeId RandomOps::dynamic_update_slice(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return x;
  Dims sizes;
  for (const std::int64_t size : node.dims) {
    sizes.push_back(chance(40) ? size : pick(1, static_cast<int>(size)));
  }
  const NodeId update = parameter(node.dtype, sizes);
  std::vector<NodeId> operands = {x, chance(50) ? update : unary(update)};
  for (std::size_t d = 0; d < sizes.size(); ++d) operands.push_back(index(node.dims[d] - sizes[d]));
  const Range range = joined(node.range, graph_.at(operands[1]).range);
  if (graph_.at(operands[1]).dtype != node.dtype) return x;
  return add("dynamic-update-slice", node.dtype, node.dims, operands, range);
}

// Rows of x by index along one dimension; other dimensions whole, or the first few elements.
NodeId RandomOps::gather(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty()) return x;
  const int dim = pick(0, static_cast<int>(node.dims.size()) - 1);
  Dims result;
  result.push_back(pick(1, 20));
  const NodeId indices =
      add("parameter", DType::kS32, result, {}, {-2, static_cast<double>(node.dims[at(dim)]) + 1});
  Dims slice = node.dims, offset_dims;
  slice[at(dim)] = 1;
  if (chance(20)) slice.back() = std::max<std::int64_t>(1, slice.back() / 2);
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(slice.size()); ++d) {
    if (d == dim) continue;
    offset_dims.push_back(static_cast<std::int64_t>(result.size()));
    result.push_back(slice[at(d)]);
  }
  if (elements(result) > 2 * most_elements_) return x;
  return add(
      "gather", node.dtype, result, {x, indices}, node.range,
      fmt::format(", offset_dims={{{}}}, collapsed_slice_dims={{{}}}, start_index_map={{{}}}, "
                  "index_vector_dim=1, slice_sizes={{{}}}",
                  join(offset_dims), dim, dim, join(slice)));
}
}  // namespace tilecast::host
