// Result shapes of operations between devices.
#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

// One operand: its shape; several: a tuple of them.
Shape packed(const Site& site) {
  if (site.count() == 1) return site.operand(0);
  std::vector<Shape> elements;
  for (std::size_t i = 0; i < site.count(); ++i) elements.push_back(site.operand(i));
  return Shape::tuple(std::move(elements));
}

Shape element(const Shape& tuple, std::size_t index, std::string_view what) {
  if (!tuple.is_tuple() || index >= tuple.elements.size()) {
    fail("{} expects a tuple with element {}; got {}", what, index, human(tuple));
  }
  return tuple.elements[index];
}

void expect_arrays(const Site& site, std::string_view what) {
  if (site.count() == 0) fail("{} expects at least one operand", name(site.instruction.opcode));
  for (std::size_t i = 0; i < site.count(); ++i) expect_array(site.operand(i), what);
}

// Output i of an operation that gives one array per operand.
const Shape& output_of(const Site& site, const Shape& result, std::size_t index) {
  if (site.count() == 1) return result;
  if (!result.is_tuple() || index >= result.elements.size()) {
    fail("{} expects a tuple of {} results; got {}", name(site.instruction.opcode), site.count(),
         human(result));
  }
  return result.elements[index];
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  if (b <= 0) return 1;
  return a / b + (a % b != 0 ? 1 : 0);
}

// How many shards the text says: the ratio of the sizes of operand 0 and result 0.
std::int64_t shard_count(const Site& site, const Shape& result, bool gather) {
  const std::int64_t dim = site.single_dimension();
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& output = output_of(site, result, i);
    if (dim < 0 || dim >= site.operand(i).rank() || !output.is_array() || dim >= output.rank()) {
      fail("{} dimension {} is out of bounds for operand {} ({}) or result ({})",
           name(site.instruction.opcode), dim, i, human(site.operand(i)), human(output));
    }
  }
  const auto axis = static_cast<std::size_t>(dim);
  const std::int64_t in = site.operand(0).dims[axis];
  const std::int64_t out = output_of(site, result, 0).dims[axis];
  return gather ? ceil_divide(out, in) : ceil_divide(in, out);
}

Shape all_gather(const Site& site, const Shape& result) {
  expect_arrays(site, "operand of all-gather");
  const std::int64_t shards = shard_count(site, result, /*gather=*/true);
  const auto axis = static_cast<std::size_t>(site.single_dimension());
  std::vector<Shape> outputs;
  for (std::size_t i = 0; i < site.count(); ++i) {
    Shape output = array_like(site.operand(i), site.operand(i).dtype);
    output.dims[axis] = checked_multiply(output.dims[axis], shards);
    outputs.push_back(std::move(output));
  }
  return outputs.size() == 1 ? outputs[0] : Shape::tuple(std::move(outputs));
}

Shape all_gather_start(const Site& site) {
  const Shape gathered = element(site.instruction.shape, 1, "all-gather-start");
  return Shape::tuple({packed(site), all_gather(site, gathered)});
}

Shape reduce_scatter(const Site& site) {
  expect_arrays(site, "operand of reduce-scatter");
  const std::int64_t shards = shard_count(site, site.instruction.shape, /*gather=*/false);
  const auto axis = static_cast<std::size_t>(site.single_dimension());
  std::vector<Shape> outputs;
  for (std::size_t i = 0; i < site.count(); ++i) {
    Shape output = array_like(site.operand(i), site.operand(i).dtype);
    if (output.dims[axis] % shards != 0) {
      fail("ReduceScatter operand scatter dimension size {} must be dividable by shard_count {}.",
           output.dims[axis], shards);
    }
    output.dims[axis] /= shards;
    outputs.push_back(std::move(output));
  }
  return outputs.size() == 1 ? outputs[0] : Shape::tuple(std::move(outputs));
}

Shape all_to_all(const Site& site) {
  expect_arrays(site, "operand of all-to-all");
  if (site.instruction.dimensions.empty()) {
    for (std::size_t i = 0; i < site.count(); ++i) {
      const Shape& first = site.operand(0);
      const Shape& other = site.operand(i);
      if (first.dims != other.dims || first.dtype != other.dtype) {
        fail(
            "HLO all-to-all has operands with different shapes: the 0th operand shape {}, but the "
            "{}th operand has shape {}.",
            human(first), i, human(other));
      }
    }
    std::vector<Shape> elements;
    for (std::size_t i = 0; i < site.count(); ++i) elements.push_back(site.operand(i));
    return Shape::tuple(std::move(elements));
  }
  const std::int64_t dim = site.single_dimension();
  const Shape& operand = site.operand(0);
  if (dim < 0 || dim >= operand.rank()) {
    fail("AllToAll split_dimension {} is out-of-bounds in shape {}.", dim, human(operand));
  }
  return array_like(operand, operand.dtype);
}

// (sources, destinations, contexts...); the in-place form names its destination as operand 1.
Shape collective_permute_start(const Site& site) {
  const bool in_place = site.count() == 4 && site.instruction.find_raw("slice_sizes") != nullptr;
  std::vector<Shape> parts;
  if (in_place) {
    parts = {site.operand(0), site.operand(1)};
  } else {
    expect_arrays(site, "operand of collective-permute-start");
    parts = {packed(site), packed(site)};
  }
  const Shape& given = site.instruction.shape;
  for (std::size_t i = 2; given.is_tuple() && i < given.elements.size(); ++i) {
    parts.push_back(given.elements[i]);
  }
  return Shape::tuple(std::move(parts));
}

Shape collective_permute(const Site& site) {
  const bool in_place = site.count() == 4 && site.instruction.find_raw("slice_sizes") != nullptr;
  if (in_place) return site.operand(1);
  expect_arrays(site, "operand of collective-permute");
  return packed(site);
}

Shape with_token(const Shape& data, bool context) {
  std::vector<Shape> parts{data};
  if (context) parts.push_back(Shape::array(DType::kU32, {}));
  parts.push_back(Shape::token());
  return Shape::tuple(std::move(parts));
}

}  // namespace

std::optional<Shape> collective(const Site& site) {
  switch (site.instruction.opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      expect_arrays(site, "operand of cross replica sum");
      return packed(site);
    case Opcode::kAllReduceDone:
      return site.operand(0);
    case Opcode::kAllGather:
      return all_gather(site, site.instruction.shape);
    case Opcode::kAllGatherStart:
      return all_gather_start(site);
    case Opcode::kAllGatherDone:
      return element(site.operand(0), 1, "all-gather-done");
    case Opcode::kReduceScatter:
      return reduce_scatter(site);
    case Opcode::kAllToAll:
      return all_to_all(site);
    case Opcode::kRaggedAllToAll:
      expect_array(site.operand(1), "output operand of ragged-all-to-all");
      return site.operand(1);
    case Opcode::kCollectiveBroadcast:
      expect_arrays(site, "operand of collective-broadcast");
      return packed(site);
    case Opcode::kCollectivePermute:
      return collective_permute(site);
    case Opcode::kCollectivePermuteStart:
      return collective_permute_start(site);
    case Opcode::kCollectivePermuteDone:
      return element(site.operand(0), 1, "collective-permute-done");
    case Opcode::kSend:
      return with_token(site.operand(0), /*context=*/true);
    case Opcode::kSendDone:
      return Shape::token();
    case Opcode::kRecvDone:
      return with_token(element(site.operand(0), 0, "recv-done"), /*context=*/false);
    default:
      return std::nullopt;
  }
}

}  // namespace tilecast::ir::infer
