// Rules of single opcodes beyond their result shape.
#include "ir/infer/shape_inference.h"
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

// Compares shapes with a chosen strictness, and checks that instructions have the shape that
// follows from their operands.

namespace {

const Shape& content(const Shape& shape) {
  return shape.dtype == DType::kBuffer && shape.elements.size() == 1 ? shape.elements[0] : shape;
}

Match strictness(const Site& site) {
  return {.ignore_fp = !has(site.instruction.opcode, Trait::kKeepsType)};
}

void expect(const Site& site, const Shape& expected) {
  if (match(site.instruction.shape, expected, strictness(site))) return;
  fail("Expected instruction to have shape equal to {}, actual shape is {}", human(expected),
       human(site.instruction.shape));
}

void expect_tuple_of_operands(const Site& site) {
  const Shape& shape = site.instruction.shape;
  bool good = shape.is_tuple() && shape.elements.size() == site.count();
  const Match how = strictness(site);
  for (std::size_t i = 0; good && i < site.count(); ++i) {
    good = match(shape.elements[i], site.operand(i), how);
  }
  if (!good) expect(site, *infer_shape(site.module, site.computation, site.instruction));
}

void expect_element(const Site& site) {
  const Shape& operand = site.operand(0);
  const IndexAttrs* attrs = site.instruction.get<IndexAttrs>();
  const auto index = attrs == nullptr ? std::int64_t{-1} : attrs->index;
  if (operand.is_tuple() && index >= 0 &&
      static_cast<std::size_t>(index) < operand.elements.size()) {
    expect(site, operand.elements[static_cast<std::size_t>(index)]);
    return;
  }
  // Throws if the index or the operand is wrong.
  expect(site, *infer_shape(site.module, site.computation, site.instruction));
}

bool is_plain_arithmetic(Opcode opcode, DType dtype) {
  using enum Opcode;
  if (is_one_of(opcode, {kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kNegate})) {
    return is_floating(dtype) || is_integer(dtype);
  }
  return is_floating(dtype) && op_class(opcode) == OpClass::kTranscendental;
}

// A fast check for the most common case, arithmetic on arrays of equal shape, without inference.
bool is_plainly_right(const Site& site) {
  const Shape& shape = site.instruction.shape;
  if (!is_plain_arithmetic(site.instruction.opcode, shape.dtype)) return false;
  for (std::size_t i = 0; i < site.count(); ++i) {
    const Shape& operand = site.operand(i);
    if (operand.dtype != shape.dtype || operand.dims != shape.dims) return false;
  }
  return true;
}

void expect_copied(const Site& site) {
  const Shape& source = site.operand(0);
  if (source.is_tuple() && source.elements.size() >= 2 &&
      !match(source.elements[0], source.elements[1])) {
    fail(
        "Source and destination buffers in CopyDone arguments need to be the same shape found {} "
        "and {}",
        human(source.elements[0]), human(source.elements[1]));
  }
  expect(site, *infer_shape(site.module, site.computation, site.instruction));
}

}  // namespace

bool match(const Shape& a, const Shape& b, const Match& how) {
  if (how.ignore_buffer && (a.dtype == DType::kBuffer || b.dtype == DType::kBuffer)) {
    Match inner = how;
    inner.ignore_buffer = false;
    return match(content(a), content(b), inner);
  }
  if (a.dtype != b.dtype && !(how.ignore_fp && infer::same_type_ignoring_fp(a.dtype, b.dtype))) {
    return false;
  }
  if (a.dims != b.dims || a.elements.size() != b.elements.size()) return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (!match(a.elements[i], b.elements[i], how)) return false;
  }
  return true;
}

const Shape* subshape(const Shape& shape, const Dims& index) {
  const Shape* at = &shape;
  for (const std::int64_t step : index) {
    if (!at->is_tuple() || step < 0 || static_cast<std::size_t>(step) >= at->elements.size()) {
      return nullptr;
    }
    at = &at->elements[static_cast<std::size_t>(step)];
  }
  return at;
}

void check_result_shape(const Site& site) {
  const Instruction& instruction = site.instruction;
  using enum Opcode;
  const Opcode opcode = instruction.opcode;
  // Fusions are checked with their callee. XLA derives the shapes of send and recv itself and
  // ignores those in the text.
  if (is_one_of(opcode, {kFusion, kCall, kWhile, kConditional, kSend, kSendDone, kRecvDone}))
    return;
  if (opcode == kTuple) return expect_tuple_of_operands(site);
  if (opcode == kGetTupleElement) return expect_element(site);
  if (is_one_of(opcode, {kCopy, kDomain, kOptBarrier, kAddDependency})) {
    return expect(site, site.operand(0));
  }
  if (opcode == kCopyDone) return expect_copied(site);
  if (is_plainly_right(site)) return;
  if (const auto expected = infer_shape(site.module, site.computation, instruction)) {
    expect(site, *expected);
  }
}

// Called computations: signatures.

namespace {

void check_callee_count(const Site& site, std::size_t expected) {
  fail_if(site.instruction.called.size() != expected,
          "{} has a wrong number of called computations; got {}, expected {}",
          name(site.instruction.opcode), site.instruction.called.size(), expected);
}

void check_parameter_count(const Site& site, const Computation& callee, std::size_t expected) {
  fail_if(callee.parameters.size() != expected,
          "Expected computation {} called from {} to have {} parameters, has {}", callee.name,
          site.instruction.name, expected, callee.parameters.size());
}

void check_argument(const Site& site, std::size_t operand, const Computation& callee,
                    std::size_t parameter) {
  const Shape& given = site.operand(operand);
  const Shape& expected = infer::parameter_shape(callee, parameter);
  if (!match(given, expected)) {
    fail("Operand {} shape does not match parameter's {} in {}: {} vs {}",
         site.operand_instruction(operand).name, callee.at(callee.parameters[parameter]).name,
         site.instruction.name, human(given), human(expected));
  }
}

void check_result(const Site& site, const Shape& result) {
  fail_if(!match(site.instruction.shape, result),
          "Expected instruction to have shape equal to {}, actual shape is {}", human(result),
          human(site.instruction.shape));
}

bool is_scalar_pred(const Shape& shape) {
  return shape.is_scalar() && shape.dtype == DType::kPred;
}

// ---- fusion ------------------------------------------------------------------------------------

void check_fusion(const Site& site) {
  check_callee_count(site, 1);
  const Computation& callee = site.callee(0);
  const Shape& root = infer::root_shape(callee);
  fail_if(!match(site.instruction.shape, root),
          "Fused computation shape ({}) is not equal to the fusion shape ({})", ShapeText{root},
          ShapeText{site.instruction.shape});
  fail_if(callee.parameters.size() > site.count(),
          "Fused parameter count ({}) is greater than the number of operands ({}) passed to the "
          "fusion instruction in: {}.",
          callee.parameters.size(), site.count(), site.instruction.name);
  for (std::size_t i = 0; i < callee.parameters.size(); ++i) {
    const Shape& parameter = infer::parameter_shape(callee, i);
    fail_if(!match(parameter, site.operand(i)),
            "Shape mismatch between parameter number {} and its operand in {}. ({} != {})", i,
            site.instruction.name, ShapeText{parameter}, ShapeText{site.operand(i)});
  }
  check_fusion_aliasing(site);
}

// ---- call, while, conditional ------------------------------------------------------------------

void check_call(const Site& site) {
  check_callee_count(site, 1);
  const Computation& callee = site.callee(0);
  check_parameter_count(site, callee, site.count());
  for (std::size_t i = 0; i < site.count(); ++i) check_argument(site, i, callee, i);
  check_result(site, infer::root_shape(callee));
  fail_if(!site.instruction.aliasing->empty() ||
              site.instruction.find_raw("output_to_operand_aliasing") != nullptr,
          "Call instruction {} may not have an output-to-operand aliasing set.",
          site.instruction.name);
}

void check_while(const Site& site) {
  check_callee_count(site, 2);
  const Computation& condition = site.callee(0);
  const Computation& body = site.callee(1);
  check_parameter_count(site, body, 1);
  check_parameter_count(site, condition, 1);
  check_argument(site, 0, body, 0);
  check_argument(site, 0, condition, 0);
  fail_if(!is_scalar_pred(infer::root_shape(condition)),
          "Conditional computation shape does not lead to a scalar predicate shape: {}",
          human(infer::root_shape(condition)));
  check_result(site, infer::root_shape(body));
}

void check_conditional(const Site& site) {
  const Shape& selector = site.operand(0);
  const std::size_t branches = site.instruction.called.size();
  infer::check_selector(selector);
  if (selector.dtype == DType::kPred) check_callee_count(site, 2);
  fail_if(branches == 0, "conditional has no branches");
  fail_if(site.count() != branches + 1,
          "Expected {} operands for conditional instruction: {} has {}", branches + 1,
          site.instruction.name, site.count());
  for (std::size_t i = 0; i < branches; ++i) {
    const Computation& branch = site.callee(i);
    check_parameter_count(site, branch, 1);
    check_argument(site, i + 1, branch, 0);
    check_result(site, infer::root_shape(branch));
  }
}

// ---- sort --------------------------------------------------------------------------------------

void check_sort(const Site& site) {
  check_callee_count(site, 1);
  const Computation& compare = site.callee(0);
  fail_if(!is_scalar_pred(infer::root_shape(compare)),
          "The Sort compare computation shape does not lead to a scalar predicate shape: {}",
          human(infer::root_shape(compare)));
  check_parameter_count(site, compare, site.count() * 2);
  for (std::size_t i = 0; i < compare.parameters.size(); ++i) {
    const Shape& parameter = infer::parameter_shape(compare, i);
    const DType expected = site.operand(i / 2).dtype;
    fail_if(
        !parameter.is_scalar() || !infer::same_type_ignoring_fp(parameter.dtype, expected),
        "Expected the {}-th parameter of the compare computation of sort to have shape {}[], but "
        "got {}",
        i, name(expected), human(parameter));
  }
  const std::int64_t dimension = site.single_dimension();
  fail_if(
      dimension < 0 || dimension >= site.operand(0).rank(),
      "Expected the sort_dimension {} of sort to be smaller than the rank {} of the operand(s).",
      dimension, site.operand(0).rank());
}

}  // namespace

void check_callees(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  if (is_async_chain(opcode)) return;
  if (opcode == kFusion) return check_fusion(site);
  if (opcode == kCall) return check_call(site);
  if (opcode == kWhile) return check_while(site);
  if (opcode == kConditional) return check_conditional(site);
  if (opcode == kSort) check_sort(site);
}

}  // namespace tilecast::ir::verification
