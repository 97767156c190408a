// Random reductions, products and convolutions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/host/random_ops.h"

namespace tilecast::host {

using ir::Dims;
using ir::DType;

namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

Dims without(const Dims& dims, const Dims& removed) {
  Dims kept;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (std::count(removed.begin(), removed.end(), static_cast<std::int64_t>(d)) == 0) {
      kept.push_back(dims[d]);
    }
  }
  return kept;
}

Range of_combined(const std::string& opcode, const Range& range, double count, DType dtype) {
  if (!is_float(dtype)) return type_range(dtype);
  if (opcode == "add") {
    return {std::min(range.low, count * range.low), std::max(range.high, count * range.high)};
  }
  if (opcode == "multiply") {
    const double most = std::max(std::abs(range.low), std::abs(range.high));
    const double product = std::pow(std::max(most, 1.0), count);
    return {-product, product};
  }
  return range;
}

Range of_products(const Range& a, const Range& b, double count) {
  const double most = std::max(std::abs(a.low), std::abs(a.high)) *
                      std::max(std::abs(b.low), std::abs(b.high)) * count;
  const bool positive = a.low >= 0 && b.low >= 0;
  return {positive ? 0 : -most, most};
}

// The result type of a product; products of narrow numbers are often wider.
DType product_type(DType dtype, bool widen) {
  if (dtype == DType::kS8) return DType::kS32;
  if (dtype == DType::kBF16 || dtype == DType::kF16) return widen ? DType::kF32 : dtype;
  return dtype;
}

}  // namespace

std::int64_t window_outputs(const ir::WindowDim& window, std::int64_t size) {
  const std::int64_t base =
      (size - 1) * window.base_dilation + 1 + window.pad_low + window.pad_high;
  const std::int64_t extent = (window.size - 1) * window.window_dilation + 1;
  return base < extent ? 0 : (base - extent) / window.stride + 1;
}

std::string window_text(const std::vector<ir::WindowDim>& window) {
  std::string size, stride, padding, base, dilation, reversal;
  for (const ir::WindowDim& dim : window) {
    const char* by = size.empty() ? "" : "x";
    size += fmt::format("{}{}", by, dim.size);
    stride += fmt::format("{}{}", by, dim.stride);
    padding += fmt::format("{}{}_{}", by, dim.pad_low, dim.pad_high);
    base += fmt::format("{}{}", by, dim.base_dilation);
    dilation += fmt::format("{}{}", by, dim.window_dilation);
    reversal += fmt::format("{}{}", by, dim.reversal ? 1 : 0);
  }
  return fmt::format("{{size={} stride={} pad={} lhs_dilate={} rhs_dilate={} rhs_reversal={}}}",
                     size, stride, padding, base, dilation, reversal);
}

Dims RandomOps::random_subset(int rank) {
  Dims subset;
  while (subset.empty()) {
    for (int d = 0; d < rank; ++d) {
      if (chance(45)) subset.push_back(d);
    }
  }
  return subset;
}

std::string RandomOps::combiner(DType dtype) {
  if (dtype == DType::kPred) return chance(50) ? "and" : "or";
  const int way = pick(1, 100);
  if (way <= 60) return "add";
  if (way <= 80) return "maximum";
  return way <= 95 ? "minimum" : "multiply";
}

NodeId RandomOps::initial(DType dtype, const std::string& opcode) {
  double value = opcode == "multiply" || opcode == "and" ? 1 : 0;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Range limits = type_range(dtype);
  if (opcode == "maximum") value = is_float(dtype) ? -kInf : limits.low;
  if (opcode == "minimum") value = is_float(dtype) ? kInf : limits.high;
  const NodeId id = scalar(dtype, value);
  if (dtype == DType::kPred) graph_.at(id).literal = value != 0 ? "true" : "false";
  return id;
}

NodeId RandomOps::reduce_dims(NodeId x, const std::string& opcode, const Dims& dims) {
  const Node node = graph_.at(x);
  const Dims kept = without(node.dims, dims);
  const double count =
      static_cast<double>(elements(node.dims)) / static_cast<double>(elements(kept));
  NodeId start = initial(node.dtype, opcode);
  if (chance(8)) start = parameter(node.dtype, {});
  const Range ends = graph_.at(start).range;
  Range range = of_combined(opcode, node.range, count, node.dtype);
  if (std::isfinite(ends.low)) {
    range = {std::min(range.low, range.low + ends.low),
             std::max(range.high, range.high + ends.high)};
  }
  return add(
      "reduce", node.dtype, kept, {x, start}, range,
      fmt::format(", dimensions={{{}}}, to_apply={}_{}", join(dims), opcode, name(node.dtype)));
}

NodeId RandomOps::reduce(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty() || ir::bits(node.dtype) == 64) return x;
  const int rank = static_cast<int>(node.dims.size());
  Dims dims = random_subset(rank);
  if (chance(60)) dims = {chance(60) ? rank - 1 : 0};
  const std::string opcode = combiner(node.dtype);
  if (opcode == "multiply" && is_float(node.dtype)) {
    const double most = std::max(std::abs(node.range.low), std::abs(node.range.high));
    const double count = static_cast<double>(elements(node.dims)) /
                         static_cast<double>(elements(without(node.dims, dims)));
    if (count * std::log2(std::max(most, 1.0)) > 10) return x;
  }
  return tame(reduce_dims(x, opcode, dims));
}

ir::WindowDim RandomOps::random_window(std::int64_t size, bool dilated) {
  ir::WindowDim window;
  window.size = pick(1, static_cast<int>(std::min<std::int64_t>(size, 5)));
  if (chance(35)) window.stride = pick(2, 3);
  if (chance(50)) {
    window.pad_low = pick(0, 2);
    window.pad_high = chance(50) ? window.pad_low : pick(0, 2);
  }
  if (chance(4)) window.pad_low = -1;
  if (dilated && chance(20)) window.window_dilation = 2;
  if (dilated && chance(15)) window.base_dilation = 2;
  return window;
}

NodeId RandomOps::reduce_window(NodeId x) {
  const Node node = graph_.at(x);
  if (node.dims.empty() || ir::bits(node.dtype) == 64) return x;
  std::vector<ir::WindowDim> window;
  Dims dims;
  double count = 1;
  for (const std::int64_t size : node.dims) {
    window.push_back(chance(40) ? ir::WindowDim{} : random_window(size, chance(30)));
    dims.push_back(window_outputs(window.back(), size));
    if (dims.back() < 1) return x;
    count *= static_cast<double>(window.back().size);
  }
  std::string opcode = combiner(node.dtype);
  if (opcode == "multiply") opcode = "add";
  if (elements(dims) > 2 * most_elements_) return x;
  // A window with only padding gives the initial value, which is infinite for a maximum.
  const NodeId start = is_float(node.dtype) ? scalar(node.dtype, 0) : initial(node.dtype, opcode);
  Range range = of_combined(opcode, node.range, count, node.dtype);
  if (is_float(node.dtype)) range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
  return tame(add(
      "reduce-window", node.dtype, dims, {x, start}, range,
      fmt::format(", window={}, to_apply={}_{}", window_text(window), opcode, name(node.dtype))));
}

// Broadcasts a reduction over the reduced dimensions.
NodeId RandomOps::back(NodeId reduced, NodeId x, const Dims& reduced_dims) {
  Dims kept;
  const Dims dims = graph_.at(x).dims;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(dims.size()); ++d) {
    if (std::count(reduced_dims.begin(), reduced_dims.end(), d) == 0) kept.push_back(d);
  }
  return add("broadcast", graph_.at(x).dtype, dims, {reduced}, graph_.at(reduced).range,
             dimensions_text(kept));
}

NodeId RandomOps::softmax(NodeId x) {
  x = tame(x);
  const Range range = graph_.at(x).range;
  const Dims dims = graph_.at(x).dims;
  if (dims.empty() || !is_float(graph_.at(x).dtype) || range.high - range.low > 40) return x;
  const Dims along = {chance(70) ? static_cast<std::int64_t>(dims.size()) - 1
                                 : pick(0, static_cast<int>(dims.size()) - 1)};
  const auto count = static_cast<double>(dims[at(along[0])]);
  const NodeId top = add(
      "reduce", graph_.at(x).dtype, without(dims, along),
      {x, initial(graph_.at(x).dtype, "maximum")}, range,
      fmt::format(", dimensions={{{}}}, to_apply=maximum_{}", along[0], name(graph_.at(x).dtype)));
  const NodeId below = same("subtract", x, {back(top, x, along)}, {range.low - range.high, 0});
  const NodeId powers = same("exponential", below, {}, {0, 1});
  const NodeId sum =
      add("reduce", graph_.at(x).dtype, without(dims, along),
          {powers, initial(graph_.at(x).dtype, "add")}, {1, count},
          fmt::format(", dimensions={{{}}}, to_apply=add_{}", along[0], name(graph_.at(x).dtype)));
  return same("divide", powers, {back(sum, x, along)}, {0, 1});
}

// (x - mean) * rsqrt(variance + epsilon), scaled and shifted along the reduced dimensions.
NodeId RandomOps::normalize(NodeId x) {
  constexpr double kEpsilon = 0.0625;
  x = tame(x);
  const Node node = graph_.at(x);
  if (node.dims.empty() || !is_float(node.dtype)) return x;
  const int rank = static_cast<int>(node.dims.size());
  const Dims along = chance(70) ? Dims{rank - 1} : random_subset(rank);
  const Dims kept = without(node.dims, along);
  const double count =
      static_cast<double>(elements(node.dims)) / static_cast<double>(elements(kept));
  const double width = node.range.high - node.range.low;
  const std::string sum =
      fmt::format(", dimensions={{{}}}, to_apply=add_{}", join(along), name(node.dtype));
  const auto mean_of = [&](NodeId of, Range range) {
    const NodeId total = add("reduce", node.dtype, kept, {of, initial(node.dtype, "add")},
                             {count * range.low, count * range.high}, sum);
    return same("multiply", total, {spread(scalar(node.dtype, 1 / count), kept)}, range);
  };
  const NodeId mean = mean_of(x, node.range);
  const NodeId centred = same("subtract", x, {back(mean, x, along)}, {-width, width});
  const NodeId squares = same("multiply", centred, {centred}, {0, width * width});
  const NodeId variance = mean_of(squares, {0, width * width});
  const NodeId safe = same("add", variance, {spread(scalar(node.dtype, kEpsilon), kept)},
                           {kEpsilon, width * width + kEpsilon});
  const NodeId factor = same("rsqrt", safe, {}, {0, 1 / std::sqrt(kEpsilon)});
  const double most = width / std::sqrt(kEpsilon);
  NodeId result = same("multiply", centred, {back(factor, x, along)}, {-most, most});
  if (chance(50)) {
    const Dims sizes = {node.dims.back()};
    const NodeId scale = parameter(node.dtype, sizes);
    const NodeId wide = add("broadcast", node.dtype, node.dims, {scale}, graph_.at(scale).range,
                            dimensions_text({rank - 1}));
    result = same("multiply", result, {wide}, {-3 * most, 3 * most});
  }
  return tame(result);
}

NodeId RandomOps::dot(DType dtype) {
  if (dtype == DType::kPred) dtype = DType::kF32;
  const auto sizes = [&](int least, int most, int largest) {
    Dims all;
    for (int n = pick(least, most); n > 0; --n) all.push_back(pick(1, largest));
    return all;
  };
  const Dims batch = chance(65) ? Dims{} : sizes(1, 2, 5);
  const Dims rows = sizes(chance(90) ? 1 : 0, chance(85) ? 1 : 2, batch.empty() ? 40 : 12);
  const Dims columns = sizes(chance(90) ? 1 : 0, chance(85) ? 1 : 2, batch.empty() ? 40 : 12);
  const Dims terms = sizes(1, chance(80) ? 1 : 2, chance(15) ? 90 : 24);
  // One side: its dimensions in random order, and the new position of each group.
  const auto side = [&](const Dims& free, Dims& batch_dims, Dims& contracting) {
    Dims groups = batch;
    groups.insert(groups.end(), free.begin(), free.end());
    groups.insert(groups.end(), terms.begin(), terms.end());
    // Free dimensions keep their order: the result lists them in that order.
    Dims order = shuffled(groups.size());
    Dims dims(groups.size());
    for (std::size_t i = 0; i < order.size(); ++i) dims[at(order[i])] = groups[i];
    for (std::size_t i = 0; i < batch.size(); ++i) batch_dims.push_back(order[i]);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      contracting.push_back(order[batch.size() + free.size() + i]);
    }
    return prologue(parameter(dtype, dims));
  };
  Dims lhs_batch, rhs_batch, lhs_terms, rhs_terms;
  const NodeId lhs = side(rows, lhs_batch, lhs_terms), rhs = side(columns, rhs_batch, rhs_terms);
  if (graph_.at(lhs).dtype != graph_.at(rhs).dtype) return lhs;
  Dims result = batch;
  for (const auto& [id, batch_dims, contracting] :
       {std::tuple(lhs, lhs_batch, lhs_terms), std::tuple(rhs, rhs_batch, rhs_terms)}) {
    Dims dropped = batch_dims;
    dropped.insert(dropped.end(), contracting.begin(), contracting.end());
    const Dims free = without(graph_.at(id).dims, dropped);
    result.insert(result.end(), free.begin(), free.end());
  }
  const DType to = product_type(graph_.at(lhs).dtype, chance(50));
  Range range =
      of_products(graph_.at(lhs).range, graph_.at(rhs).range, static_cast<double>(elements(terms)));
  if (!is_float(to)) range = type_range(to);
  std::string dims = fmt::format(", lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}",
                                 join(lhs_terms), join(rhs_terms));
  if (!batch.empty()) {
    dims += fmt::format(", lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}", join(lhs_batch),
                        join(rhs_batch));
  }
  return tame(add("dot", to, result, {lhs, rhs}, range, dims));
}

namespace {

struct Features {
  std::int64_t input = 1, output = 1, kernel_input = 1, groups = 1, batch_groups = 1, batch = 1;
};

// Sizes in the order of the labels, with labels in random order: "0fb", {7, 3, 2}.
struct Labelled {
  std::string labels;
  Dims dims;
};

Labelled arranged(const Dims& order, const std::string& labels, const Dims& sizes) {
  Labelled result;
  for (const std::int64_t i : order) {
    result.labels += labels[at(i)];
    result.dims.push_back(sizes[at(i)]);
  }
  return result;
}

}  // namespace

NodeId RandomOps::convolution(DType dtype) {
  if (dtype == DType::kPred) dtype = DType::kF32;
  Features f{.input = pick(1, 12), .output = pick(1, 14), .batch = pick(1, 3)};
  f.kernel_input = f.input;
  if (const int way = pick(1, 100); way <= 15) {  // depthwise
    f.groups = f.input;
    f.kernel_input = 1;
    f.output = f.input * pick(1, 2);
  } else if (way <= 30) {
    f.groups = pick(2, 4);
    f.kernel_input = pick(1, 4);
    f.input = f.groups * f.kernel_input;
    f.output = f.groups * pick(1, 5);
  } else if (way <= 38) {
    f.batch_groups = pick(2, 3);
    f.batch *= f.batch_groups;
    f.output = f.batch_groups * pick(1, 4);
  }
  const int spatial = chance(10) ? 0 : chance(30) ? 1 : chance(92) ? 2 : 3;
  const int largest = spatial == 1 ? 40 : spatial == 2 ? 13 : 6;
  Dims in = {f.batch, f.input}, of = {f.kernel_input, f.output},
       out = {f.batch / f.batch_groups, f.output};
  std::string labels = "bf", kernel_labels = "io";
  std::vector<ir::WindowDim> window;
  double count = static_cast<double>(f.kernel_input);
  for (int d = 0; d < spatial; ++d) {
    const int size = pick(2, largest);
    ir::WindowDim dim = random_window(size, true);
    dim.reversal = chance(8);
    if (window_outputs(dim, size) < 1) dim = {};
    window.push_back(dim);
    in.push_back(size);
    of.push_back(dim.size);
    out.push_back(window_outputs(dim, size));
    labels += static_cast<char>('0' + d);
    kernel_labels += static_cast<char>('0' + d);
    count *= static_cast<double>(dim.size);
  }
  const auto order = [&] { return shuffled(in.size()); };
  const Labelled lhs_dims = arranged(order(), labels, in);
  const Labelled rhs_dims = arranged(order(), kernel_labels, of);
  const Labelled result = arranged(order(), labels, out);
  const NodeId lhs = prologue(parameter(dtype, lhs_dims.dims));
  const NodeId rhs = prologue(parameter(dtype, rhs_dims.dims));
  if (graph_.at(lhs).dtype != graph_.at(rhs).dtype) return lhs;
  const DType to = product_type(graph_.at(lhs).dtype, chance(50));
  Range range = of_products(graph_.at(lhs).range, graph_.at(rhs).range, count);
  range = is_float(to) ? Range{std::min(range.low, 0.0), range.high} : type_range(to);
  std::string attributes =
      spatial > 0 ? fmt::format(", window={}", window_text(window)) : std::string(", window={}");
  attributes +=
      fmt::format(", dim_labels={}_{}->{}", lhs_dims.labels, rhs_dims.labels, result.labels);
  if (f.groups > 1) attributes += fmt::format(", feature_group_count={}", f.groups);
  if (f.batch_groups > 1) attributes += fmt::format(", batch_group_count={}", f.batch_groups);
  return tame(add("convolution", to, result.dims, {lhs, rhs}, range, attributes));
}

}  // namespace tilecast::host
