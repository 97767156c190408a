#include "ir/infer/shape_inference.h"

#include <algorithm>
#include <charconv>

#include "base/math.h"
#include "ir/infer/infer_rules.h"
#include "ir/ops/op_row.h"

namespace tilecast::ir::infer {
namespace {

bool is_unbounded_array(const Shape& shape) {
  return shape.is_array() && contains(shape.dims, kUnboundedSize);
}

bool any_unbounded(const Site& site) {
  for (std::size_t i = 0; i < site.count(); ++i) {
    if (is_unbounded_array(site.operand(i))) return true;
  }
  return is_unbounded_array(site.instruction.shape);
}

}  // namespace

Shape tuple(const Site& site) {
  return Shape::tuple(site.operand_shapes());
}

Shape tuple_element(const Site& site) {
  const Shape& operand = site.operand(0);
  const std::int64_t index = site.attrs<IndexAttrs>().index;
  fail_if(!operand.is_tuple(), "Cannot infer shape: attempting to index into non-tuple: {}.",
          human(operand));
  fail_if(index < 0 || static_cast<std::size_t>(index) >= operand.elements.size(),
          "Cannot infer shape: attempt to index out of tuple bounds: {} >= {} in shape {}.", index,
          operand.elements.size(), human(operand));
  return operand.elements[static_cast<std::size_t>(index)];
}

Shape copy_start(const Site& site) {
  return Shape::tuple({site.operand(0), site.operand(0), Shape::array(DType::kU32, {})});
}

Shape first_element(const Site& site) {
  const Shape& operand = site.operand(0);
  fail_if(!operand.is_tuple() || operand.elements.size() < 2,
          "{} expects the tuple of its start; got {}", name(site.instruction.opcode),
          human(operand));
  return operand.elements[0];
}

Shape first_operand(const Site& site) {
  return site.operand(0);
}
Shape callee_root(const Site& site) {
  return root_shape(site.callee(0));
}
Shape conditional(const Site& site) {
  check_selector(site.operand(0));
  return callee_root(site);
}
Shape token(const Site&) {
  return Shape::token();
}
Shape device_number(const Site&) {
  return Shape::array(DType::kU32, {});
}
Shape random_state(const Site&) {
  return Shape::array(DType::kU64, {2});
}

Shape convert(const Site& site) {
  const Shape& operand = site.operand(0);
  fail_if(!operand.is_array(), "Convert does not allow non-arrays, so cannot convert from {}.",
          human(operand));
  return array_like(operand, site.result_type(operand.dtype));
}

// Result shapes of operations between devices.

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

// Helpers for shape rules: access to operands, text for messages, checked arithmetic.

const Shape& Site::operand(std::size_t index) const {
  fail_if(index >= count(), "{} expects more operands; got {}, operand {} is missing",
          name(instruction.opcode), count(), index);
  return computation.at(instruction.operands[index]).shape;
}

std::vector<Shape> Site::operand_shapes() const {
  std::vector<Shape> shapes;
  shapes.reserve(count());
  for (std::size_t i = 0; i < count(); ++i) shapes.push_back(operand(i));
  return shapes;
}

const Computation& Site::callee(std::size_t index) const {
  fail_if(index >= instruction.called.size(), "{} expects a called computation",
          name(instruction.opcode));
  return module.at(instruction.called[index]);
}

DType Site::result_type(DType fallback) const {
  return instruction.shape.dtype == DType::kInvalid ? fallback : instruction.shape.dtype;
}

std::int64_t Site::single_dimension() const {
  fail_if(instruction.dimensions.size() != 1, "{} expects exactly one dimension; got {}",
          name(instruction.opcode), instruction.dimensions.size());
  return instruction.dimensions[0];
}

std::optional<std::int64_t> Site::raw_integer(std::string_view key) const {
  const std::string* text = instruction.find_raw(key);
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

const Shape& parameter_shape(const Computation& callee, std::size_t number) {
  fail_if(number >= callee.parameters.size(), "computation {} has no parameter {}", callee.name,
          number);
  return callee.at(callee.parameters[number]).shape;
}

const Shape& root_shape(const Computation& callee) {
  fail_if(!callee.root.valid(), "computation {} has no root", callee.name);
  return callee.root_instruction().shape;
}

Shape array_like(const Shape& shape, DType dtype) {
  Shape result;
  result.dtype = dtype;
  result.dims = shape.dims;
  result.dynamic_mask = shape.dynamic_mask;
  return result;
}

DType higher_precision(DType a, DType b) {
  return bits(b) > bits(a) ? b : a;
}

bool same_type_ignoring_fp(DType a, DType b) {
  return a == b || (is_floating(a) && is_floating(b));
}

void expect_array(const Shape& shape, std::string_view what) {
  fail_if(!shape.is_array(), "Expected array argument for {}, but got {}.", what, human(shape));
}

DType product_type(const Site& site) {
  const DType natural = higher_precision(site.operand(0).dtype, site.operand(1).dtype);
  const DType preferred = site.result_type(natural);
  fail_if(preferred != natural && !is_floating(natural) && bits(preferred) < bits(natural),
          "`preferred_element_type` must not be narrower than the original type.");
  return preferred;
}

void expect_same_elements(const Shape& from, const Shape& to) {
  fail_if(element_count(from) != element_count(to),
          "Reshape operation has mismatched element counts: from={} ({}) to={} ({}).",
          element_count(from), human(from), element_count(to), human(to));
}

void check_operand_count(const Instruction& instruction) {
  const int arity = info(instruction.opcode).arity;
  fail_if(arity >= 0 && instruction.operands.size() != static_cast<std::size_t>(arity),
          "Expected {} operands for {} instruction: {} has {}", arity, name(instruction.opcode),
          instruction.name, instruction.operands.size());
}

void check_selector(const Shape& selector) {
  fail_if(!selector.is_scalar(), "The first operand of conditional must be a scalar. Got {}",
          human(selector));
  fail_if(selector.dtype != DType::kPred && selector.dtype != DType::kS32,
          "The first operand of indexed conditional must be a scalar of S32. Got type {}.",
          type_name(selector.dtype));
}

ScanForm scan_form(const Site& site) {
  const Dims& dimensions = site.instruction.dimensions;
  fail_if(dimensions.size() != 1, "Scan instruction has {} dimensions, expected exactly one.",
          dimensions.size());
  fail_if(dimensions[0] < 0, "Scan dimension {} should be non-negative", dimensions[0]);
  const std::int64_t carries = site.raw_integer("num_carries").value_or(0);
  fail_if(carries < 0, "Scan instruction has {} carries, expected 0 or more", carries);
  return {dimensions[0], static_cast<std::size_t>(carries)};
}

bool contains(const Dims& dims, std::int64_t value) {
  return std::find(dims.begin(), dims.end(), value) != dims.end();
}

bool all_unique(const Dims& dims) {
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

bool is_permutation(const Dims& dims, int rank) {
  if (dims.size() != static_cast<std::size_t>(rank) || rank > Shape::kMaxRank) return false;
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= rank || (seen >> dim & 1U) != 0) return false;
    seen |= std::uint64_t{1} << dim;
  }
  return true;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  fail_if(__builtin_add_overflow(a, b, &sum), "size overflows 64 bits: {} + {}", a, b);
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  fail_if(__builtin_mul_overflow(a, b, &product), "size overflows 64 bits: {} * {}", a, b);
  return product;
}

void append_dim(Shape& result, const Shape& from, int dim) {
  if (from.is_dynamic(dim)) result.set_dynamic(result.rank());
  result.dims.push_back(from.dims[static_cast<std::size_t>(dim)]);
}

}  // namespace tilecast::ir::infer

namespace tilecast::ir {

std::optional<Shape> infer_shape(const Module& module, const Computation& computation,
                                 const Instruction& instruction) {
  const infer::Site site{module, computation, instruction};
  infer::check_operand_count(instruction);
  const ShapeRule& rule = op_row(instruction.opcode).shape;
  if (rule.infer == nullptr || (!rule.any_size && infer::any_unbounded(site))) return std::nullopt;
  Shape shape = rule.infer(site);
  return shape.dtype == DType::kInvalid ? std::nullopt : std::optional(std::move(shape));
}

std::int64_t window_output_size(std::int64_t size, const WindowDim& window) {
  infer::fail_if(window.stride <= 0, "Window has a non-positive stride: {}.", window.stride);
  const auto dilated = [](std::int64_t extent, std::int64_t dilation) {
    if (extent <= 0) return std::int64_t{0};
    return infer::checked_add(infer::checked_multiply(extent - 1, dilation), 1);
  };
  const std::int64_t edges = infer::checked_add(window.pad_low, window.pad_high);
  const std::int64_t padded = infer::checked_add(dilated(size, window.base_dilation), edges);
  const std::int64_t covered = dilated(window.size, window.window_dilation);
  if (padded <= 0 || covered > padded) return 0;
  return (padded - covered) / window.stride + 1;
}

}  // namespace tilecast::ir
