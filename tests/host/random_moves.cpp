// Random ops that move elements.
#include <fmt/format.h>

#include <algorithm>

#include "tests/host/random_ops.h"

namespace tilecast::host {

using ir::Dims;
using ir::DType;

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
