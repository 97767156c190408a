// Rules of single opcodes beyond their result shape.
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

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

void check_infeed(const Site& site) {
  const Shape& shape = site.instruction.shape;
  fail_if(!shape.is_tuple() || shape.elements.size() != 2 || !shape.elements[1].is_token(),
          "Expected instruction to have shape equal to (data, token[]), actual shape is {}",
          human(shape));
}

void check_transfer(const Site& site) {
  const Shape& shape = site.instruction.shape;
  fail_if(!shape.is_tuple() || shape.elements.empty(),
          "Expected instruction to have shape equal to (data, u32[], token[]), actual shape is {}",
          human(shape));
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
  fail_if(roots < carries, "Scan instruction has {} carries, but only {} results.", carries, roots);
  fail_if(operands == carries && roots == carries, "Scan instruction has no inputs or outputs.");
  fail_if(operands != parameters,
          "Scan instruction has {} operands, but the to_apply computation has {} parameters.",
          operands, parameters);
  fail_if(roots != results,
          "Scan instruction has {} results, but the to_apply computation has {} results.", results,
          roots);
}

// Inputs are the parameters with the scanned dimension inserted. Results are inferred from the
// body.
void check_scan(const Site& site) {
  const auto [dim, carries] = infer::scan_form(site);
  const Computation& body = site.callee(0);
  const auto roots = parts(infer::root_shape(body));
  check_scan_counts(site.count(), body.parameters.size(), roots.size(),
                    parts(site.instruction.shape).size(), carries);
  const std::size_t inputs = site.count() - carries;
  const auto axis = static_cast<std::size_t>(dim);
  const Match how{.ignore_fp = true};
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& operand = site.operand(i);
    const Shape& parameter = infer::parameter_shape(body, i);
    if (i < inputs) {
      fail_if(!operand.is_array() || dim >= operand.rank(),
              "Scan dimension {} out of bounds for operand {}", dim, i);
      fail_if(operand.dims[axis] != site.operand(0).dims[axis],
              "Scan dimension {} has size {}, expected {}", dim, operand.dims[axis],
              site.operand(0).dims[axis]);
    }
    fail_if(!match(i < inputs ? without(operand, axis) : operand, parameter, how),
            "Shapes of operand {} and to_apply computation parameter are inconsistent", i);
  }
  for (std::size_t i = 0; i < carries; ++i) {
    fail_if(
        !match(infer::parameter_shape(body, inputs + i), *roots[roots.size() - carries + i], how),
        "Shapes of parameter {} and root in to_apply computation are inconsistent", i);
  }
}

}  // namespace

void check_operation(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  if (opcode == kIota) check_iota(site);
  if (opcode == kBroadcast) check_broadcast_order(site);
  if (opcode == kDynamicReshape) check_dynamic_reshape(site);
  if (opcode == kInfeed) check_infeed(site);
  if (is_one_of(opcode, {kRecv, kSend})) check_transfer(site);
  if (opcode == kScan) check_scan(site);
  if (opcode == kCustomCall) check_custom_call(site);
}

}  // namespace tilecast::ir::verification
