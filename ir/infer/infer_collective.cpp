// Result shapes of operations between devices.
#include "base/math.h"
#include "ir/infer/infer_rules.h"

namespace tilecast::ir::infer {
namespace {

// A single array, or a tuple of several.
Shape packed(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0]) : Shape::tuple(std::move(shapes));
}

Shape element(const Shape& tuple, std::size_t index, std::string_view what) {
  fail_if(!tuple.is_tuple() || index >= tuple.elements.size(),
          "{} expects a tuple with element {}; got {}", what, index, human(tuple));
  return tuple.elements[index];
}

void expect_arrays(const Site& site, std::string_view what) {
  fail_if(site.count() == 0, "{} expects at least one operand", name(site.instruction.opcode));
  for (std::size_t i = 0; i < site.count(); ++i) expect_array(site.operand(i), what);
}

// Output i of an operation that gives one array per operand.
const Shape& output_of(const Site& site, const Shape& result, std::size_t index) {
  if (site.count() == 1) return result;
  fail_if(!result.is_tuple() || index >= result.elements.size(),
          "{} expects a tuple of {} results; got {}", name(site.instruction.opcode), site.count(),
          human(result));
  return result.elements[index];
}

// The number of shards in the text: the ratio of the sizes of operand 0 and result 0.
std::int64_t shard_count(const Site& site, const Shape& result, bool gather) {
  const std::int64_t dim = site.single_dimension();
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& output = output_of(site, result, i);
    fail_if(dim < 0 || dim >= site.operand(i).rank() || !output.is_array() || dim >= output.rank(),
            "{} dimension {} is out of bounds for operand {} ({}) or result ({})",
            name(site.instruction.opcode), dim, i, human(site.operand(i)), human(output));
  }
  const auto axis = static_cast<std::size_t>(dim);
  const std::int64_t in = site.operand(0).dims[axis];
  const std::int64_t out = output_of(site, result, 0).dims[axis];
  const std::int64_t whole = gather ? out : in;
  const std::int64_t part = gather ? in : out;
  return part <= 0 ? 1 : base::ceil_div(whole, part);
}

// The operands' shapes with the collective's dimension resized.
template <class Resize>
Shape resharded(const Site& site, Resize&& resize) {
  std::vector<Shape> outputs;
  for (std::size_t i = 0; i < site.count(); ++i) {
    Shape& output = outputs.emplace_back(array_like(site.operand(i), site.operand(i).dtype));
    resize(output.dims[static_cast<std::size_t>(site.single_dimension())]);
  }
  return packed(std::move(outputs));
}

Shape gathered(const Site& site, const Shape& result) {
  expect_arrays(site, "operand of all-gather");
  const std::int64_t shards = shard_count(site, result, /*gather=*/true);
  return resharded(site, [&](std::int64_t& size) { size = checked_multiply(size, shards); });
}

bool is_in_place(const Site& site) {
  return site.count() == 4 && site.instruction.find_raw("slice_sizes") != nullptr;
}

}  // namespace

Shape all_reduce(const Site& site) {
  expect_arrays(site, "operand of cross replica sum");
  return packed(site.operand_shapes());
}

Shape all_gather(const Site& site) {
  return gathered(site, site.instruction.shape);
}

Shape all_gather_start(const Site& site) {
  const Shape result = element(site.instruction.shape, 1, "all-gather-start");
  return Shape::tuple({packed(site.operand_shapes()), gathered(site, result)});
}

Shape reduce_scatter(const Site& site) {
  expect_arrays(site, "operand of reduce-scatter");
  const std::int64_t shards = shard_count(site, site.instruction.shape, /*gather=*/false);
  return resharded(site, [shards](std::int64_t& size) {
    fail_if(size % shards != 0,
            "ReduceScatter operand scatter dimension size {} must be dividable by shard_count {}.",
            size, shards);
    size /= shards;
  });
}

Shape all_to_all(const Site& site) {
  expect_arrays(site, "operand of all-to-all");
  if (site.instruction.dimensions.empty()) {
    for (std::size_t i = 0; i < site.count(); ++i) {
      const Shape& first = site.operand(0);
      const Shape& other = site.operand(i);
      fail_if(
          first.dims != other.dims || first.dtype != other.dtype,
          "HLO all-to-all has operands with different shapes: the 0th operand shape {}, but the "
          "{}th operand has shape {}.",
          human(first), i, human(other));
    }
    return Shape::tuple(site.operand_shapes());
  }
  const std::int64_t dim = site.single_dimension();
  const Shape& operand = site.operand(0);
  fail_if(dim < 0 || dim >= operand.rank(),
          "AllToAll split_dimension {} is out-of-bounds in shape {}.", dim, human(operand));
  return array_like(operand, operand.dtype);
}

Shape ragged_all_to_all(const Site& site) {
  expect_array(site.operand(1), "output operand of ragged-all-to-all");
  return site.operand(1);
}

Shape collective_broadcast(const Site& site) {
  expect_arrays(site, "operand of collective-broadcast");
  return packed(site.operand_shapes());
}

// (sources, destinations, contexts...); in the in-place form, operand 1 is the destination.
Shape collective_permute_start(const Site& site) {
  std::vector<Shape> parts;
  if (is_in_place(site)) {
    parts = {site.operand(0), site.operand(1)};
  } else {
    expect_arrays(site, "operand of collective-permute-start");
    parts.assign(2, packed(site.operand_shapes()));
  }
  const Shape& given = site.instruction.shape;
  for (std::size_t i = 2; given.is_tuple() && i < given.elements.size(); ++i) {
    parts.push_back(given.elements[i]);
  }
  return Shape::tuple(std::move(parts));
}

Shape collective_permute(const Site& site) {
  if (is_in_place(site)) return site.operand(1);
  expect_arrays(site, "operand of collective-permute");
  return packed(site.operand_shapes());
}

Shape second_element(const Site& site) {
  return element(site.operand(0), 1, name(site.instruction.opcode));
}

Shape send(const Site& site) {
  return Shape::tuple({site.operand(0), Shape::array(DType::kU32, {}), Shape::token()});
}

Shape recv_done(const Site& site) {
  return Shape::tuple({element(site.operand(0), 0, "recv-done"), Shape::token()});
}

}  // namespace tilecast::ir::infer
