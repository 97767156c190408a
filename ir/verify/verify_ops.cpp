// What single opcodes demand beyond their result shape.
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

void check_rng(const Site& site) {
  fail_if(site.count() != 2, "Expected 2 operands for rng instruction: {} has {}",
          site.instruction.name, site.count());
  const Shape& first = site.operand(0);
  const Shape& second = site.operand(1);
  const Shape& result = site.instruction.shape;
  fail_if(!first.is_scalar() || !second.is_scalar(),
          "Expected scalar types for the two operands of Rng instruction: {} and {}", human(first),
          human(second));
  const bool result_fits =
      first.dtype == result.dtype || (site.options.allow_mixed_precision &&
                                      infer::same_type_ignoring_fp(first.dtype, result.dtype));
  fail_if(first.dtype != second.dtype || !result_fits,
          "Expected compatible element types for the result and the two operands of Rng "
          "instruction: {}, {} and {}",
          human(result), human(first), human(second));
  const std::string* distribution = site.instruction.find_raw("distribution");
  const bool normal = distribution != nullptr && *distribution == "rng_normal";
  fail_if(normal && !is_floating(first.dtype),
          "Element type not supported. Expected element to be FloatingPointType for RngNormal: {}",
          human(first));
  fail_if(
      !is_floating(first.dtype) && !is_integer(first.dtype) && first.dtype != DType::kPred,
      "Element type not supported. Expected element to be of floating point type, integral type "
      "or predicate type for RngUniform: {}",
      human(first));
}

void check_rng_bit_generator(const Site& site) {
  const Shape& shape = site.instruction.shape;
  if (!shape.is_tuple()) return;
  fail_if(shape.elements.size() != 2,
          "Expected tuple shape with 2 elements for RngBitGenerator. Got: {}", human(shape));
  fail_if(!match(site.operand(0), shape.elements[0], {}),
          "Expected state shape to match between input and output for RngBitGenerator. Got {} vs. "
          "{}",
          human(site.operand(0)), human(shape.elements[0]));
}

void check_iota(const Site& site) {
  const Shape& shape = site.instruction.shape;
  fail_if(!shape.is_array(), "Iota does not support non-array result.");
  fail_if(shape.dims.empty(), "Iota does not support scalars.");
  const IndexAttrs* attrs = site.instruction.get<IndexAttrs>();
  const std::int64_t dimension =
      attrs != nullptr ? attrs->index : site.raw_integer("iota_dimension").value_or(0);
  fail_if(dimension < 0 || dimension >= shape.rank(),
          "The iota dimension cannot go beyond the operation rank or be negative.");
  fail_if(!is_integer(shape.dtype) && !is_floating(shape.dtype) && !is_complex(shape.dtype),
          "Only support iota of integral, floating point or complex primitive types, got {}",
          type_name(shape.dtype));
}

bool comes_from_constant(const Site& site) {
  const Instruction* at = &site.operand_instruction(0);
  for (std::size_t steps = site.computation.instructions.size(); steps > 0; --steps) {
    if (at->opcode != Opcode::kCopy || at->operands.empty()) break;
    at = &site.computation.at(at->operands[0]);
  }
  return at->opcode == Opcode::kConstant;
}

void check_bitcast(const Site& site) {
  const Shape& from = site.operand(0);
  const Shape& to = site.instruction.shape;
  if (site.options.layout_sensitive && from.is_array() && to.is_array()) {
    const std::int64_t out = unpadded_bytes(to);
    const std::int64_t in = unpadded_bytes(from);
    fail_if(out != in,
            "{}: Bitcast cannot have different shape sizes of output ({}) and operand ({}) ({}) "
            "({})",
            site.instruction.name, out, in, ShapeText{to}, ShapeText{from});
  }
  if (!from.layout || !to.layout) return;
  const bool changes_host =
      (from.memory_space() == kHostMemory) != (to.memory_space() == kHostMemory);
  fail_if(changes_host && !comes_from_constant(site),
          "{}: Bitcast cannot have different memory spaces of output ({}) and operand ({}) ({}) "
          "({}); Instruction shouldn't have the layout of host memory space",
          site.instruction.name, to.memory_space(), from.memory_space(), ShapeText{to},
          ShapeText{from});
}

void check_broadcast_order(const Site& site) {
  const Dims& dimensions = site.instruction.dimensions;
  for (std::size_t i = 1; i < dimensions.size(); ++i) {
    fail_if(dimensions[i - 1] >= dimensions[i],
            "Broadcast dimensions should be ordered, got: {{{}}}", join(dimensions));
  }
}

void check_dynamic_reshape(const Site& site) {
  const Shape& result = site.instruction.shape;
  const Shape& operand = site.operand(0);
  fail_if(!operand.is_array() || !result.is_array() || operand.dtype != result.dtype,
          "dynamic-reshape cannot change the element type: {} to {}", human(operand),
          human(result));
  if (!operand.is_unbounded() && !result.is_unbounded()) {
    infer::expect_same_elements(operand, result);
  }
  fail_if(site.count() != result.dims.size() + 1,
          "dynamic-reshape expects one size per result dimension; got {}, expected {}",
          site.count() - 1, result.rank());
  for (std::size_t i = 1; i < site.count(); ++i) {
    fail_if(site.operand(i).dtype != DType::kS32,
            "DynamicReshape's dim size has to be scalar S32, got ({})", human(site.operand(i)));
  }
}

std::string_view default_comparison(DType dtype) {
  if (is_floating(dtype) || is_complex(dtype)) return "FLOAT";
  return is_signed_integer(dtype) ? "SIGNED" : "UNSIGNED";
}

void check_comparison(const Site& site) {
  const CompareAttrs* attrs = site.instruction.get<CompareAttrs>();
  if (attrs == nullptr || attrs->type.empty()) return;
  const Shape& operand = site.operand(1);
  const std::string_view expected = default_comparison(operand.dtype);
  if (is_floating(operand.dtype)) {
    if (attrs->type == "FLOAT" || attrs->type == "TOTALORDER") return;
    fail("Expected comparison type FLOAT or TOTALORDER. actual: {} operand: {}", attrs->type,
         human(operand));
  }
  fail_if(attrs->type != expected, "Expected comparison type {}. actual: {} operand: {}", expected,
          attrs->type, human(operand));
}

void check_token(const Site& site, std::size_t index) {
  const Shape& operand = site.operand(index);
  fail_if(!operand.is_token(), "Expected operand {} to be token-shaped, actual shape is {}", index,
          human(operand));
}

void check_infeed(const Site& site) {
  check_token(site, 0);
  const Shape& shape = site.instruction.shape;
  fail_if(!shape.is_tuple() || shape.elements.size() != 2 || !shape.elements[1].is_token(),
          "Expected instruction to have shape equal to (data, token[]), actual shape is {}",
          site.shown(shape));
}

void check_transfer(const Site& site) {
  const Shape& shape = site.instruction.shape;
  fail_if(!shape.is_tuple() || shape.elements.empty(),
          "Expected instruction to have shape equal to (data, u32[], token[]), actual shape is {}",
          site.shown(shape));
}

// ---- packed nibbles ----------------------------------------------------------------------------

void check_packed_nibbles(const Site& site, const std::vector<std::string>& precision,
                          std::string_view what) {
  std::size_t packed = 0;
  for (const std::string& entry : precision) packed += entry == "packed_nibble" ? 1 : 0;
  if (packed == 0) return;
  fail_if(packed == 1, "{} cannot have a single packed nibble argument", what);
  for (std::size_t i = 0; i < 2; ++i) {
    const DType dtype = site.operand(i).dtype;
    fail_if(dtype != DType::kS8 && dtype != DType::kU8,
            "Packed nibble precision can only apply to 8 bit integers. {} is {}.",
            i == 0 ? "LHS" : "RHS", human(site.operand(i)));
  }
}

void check_matrix(const Site& site) {
  if (const DotAttrs* dot = site.instruction.get<DotAttrs>()) {
    check_packed_nibbles(site, dot->precision, "Dot");
    return;
  }
  const ConvAttrs* conv = site.instruction.get<ConvAttrs>();
  if (conv == nullptr) return;
  check_packed_nibbles(site, conv->precision, "Convolution");
  bool packed = false;
  for (const std::string& entry : conv->precision) packed = packed || entry == "packed_nibble";
  if (packed && conv->feature_group_count != 1) {
    fail("Packed nibble precision does not support feature group count {}.",
         conv->feature_group_count);
  }
  if (packed && conv->batch_group_count != 1) {
    fail("Packed nibble precision does not support batch group count {}.", conv->batch_group_count);
  }
}

// ---- scan --------------------------------------------------------------------------------------

std::vector<const Shape*> parts(const Shape& shape) {
  if (!shape.is_tuple()) return {&shape};
  std::vector<const Shape*> found;
  for (const Shape& element : shape.elements) found.push_back(&element);
  return found;
}

Shape without(const Shape& shape, std::size_t dim) {
  Shape result = infer::array_like(shape, shape.dtype);
  result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return result;
}

void check_scan_counts(std::size_t operands, std::size_t parameters, std::size_t roots,
                       std::size_t results, std::size_t carries) {
  fail_if(operands < carries, "Scan instruction has {} carries, but only {} operands.", carries,
          operands);
  fail_if(results < carries, "Scan instruction has {} carries, but only {} results.", carries,
          results);
  fail_if(operands == carries && results == carries, "Scan instruction has no inputs or outputs.");
  fail_if(operands != parameters,
          "Scan instruction has {} operands, but the to_apply computation has {} parameters.",
          operands, parameters);
  fail_if(roots != results,
          "Scan instruction has {} results, but the to_apply computation has {} results.", results,
          roots);
}

// `whole` is `step` with the scanned dimension of size `extent` put in.
void check_scanned(const Site& site, const Shape& whole, const Shape& step, std::int64_t extent,
                   std::string_view what, std::size_t index) {
  const std::int64_t dim = site.single_dimension();
  fail_if(dim >= whole.rank(), "Scan dimension {} out of bounds for {} {}", dim, what, index);
  const auto axis = static_cast<std::size_t>(dim);
  fail_if(whole.dims[axis] != extent, "Scan dimension {} has size {}, expected {}", dim,
          whole.dims[axis], extent);
  fail_if(!match(without(whole, axis), step, {.ignore_fp = site.options.allow_mixed_precision}),
          "Shapes of {} {} and to_apply computation {} are inconsistent", what, index,
          what == "operand" ? "parameter" : "root");
}

void check_scan(const Site& site) {
  const auto [dim, carries] = infer::scan_form(site);
  const Computation& body = site.callee(0);
  const auto roots = parts(infer::root_shape(body));
  const auto results = parts(site.instruction.shape);
  check_scan_counts(site.count(), body.parameters.size(), roots.size(), results.size(), carries);
  const std::size_t inputs = site.count() - carries;
  const std::size_t outputs = results.size() - carries;
  const Shape& scanned = inputs > 0 ? site.operand(0) : *results[0];
  fail_if(dim >= scanned.rank(), "Scan dimension {} out of bounds for operand 0", dim);
  const std::int64_t extent = scanned.dims[static_cast<std::size_t>(dim)];
  const Match how{.ignore_fp = site.options.allow_mixed_precision};
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& parameter = infer::parameter_shape(body, i);
    if (i < inputs) {
      check_scanned(site, site.operand(i), parameter, extent, "operand", i);
    } else if (!match(site.operand(i), parameter, how)) {
      fail("Shapes of operand {} and to_apply computation parameter are inconsistent", i);
    }
  }
  for (std::size_t i = 0; i < carries; ++i) {
    fail_if(!match(infer::parameter_shape(body, inputs + i), *roots[outputs + i], how),
            "Shapes of parameter {} and root in to_apply computation are inconsistent", i);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i < outputs) {
      check_scanned(site, *results[i], *roots[i], extent, "result", i);
    } else if (!match(*results[i], *roots[i], how)) {
      fail("Shapes of result {} and to_apply computation root are inconsistent", i);
    }
  }
}

}  // namespace

void check_operation(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  if (opcode == kRng) check_rng(site);
  if (opcode == kRngBitGenerator) check_rng_bit_generator(site);
  if (opcode == kIota) check_iota(site);
  if (opcode == kBitcast) check_bitcast(site);
  if (opcode == kBroadcast) check_broadcast_order(site);
  if (opcode == kDynamicReshape) check_dynamic_reshape(site);
  if (opcode == kCompare) check_comparison(site);
  if (opcode == kInfeed) check_infeed(site);
  if (is_one_of(opcode, {kOutfeed, kAddDependency})) check_token(site, 1);
  if (is_one_of(opcode, {kRecv, kSend})) check_transfer(site);
  if (is_one_of(opcode, {kDot, kConvolution})) check_matrix(site);
  if (opcode == kScan) check_scan(site);
  if (opcode == kCustomCall) check_custom_call(site);
}

}  // namespace tilecast::ir::verification
