// Compares shapes with a chosen strictness, and checks that instructions have the shape that
// follows from their operands.
#include "ir/infer/shape_inference.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

const Shape& content(const Shape& shape) {
  return shape.dtype == DType::kBuffer && shape.elements.size() == 1 ? shape.elements[0] : shape;
}

// True for ops that reinterpret or pass on data, whose element type may not change.
bool passes_data_on(Opcode opcode) {
  using enum Opcode;
  return is_one_of(
      opcode, {kBitcast, kCall, kConditional, kConstant, kCopyDone, kCopyStart, kCustomCall,
               kDynamicUpdateSlice, kGetTupleElement, kInfeed, kOutfeed, kOptBarrier, kParameter,
               kRecv, kRecvDone, kSend, kSendDone, kTuple, kWhile});
}

Match strictness(const Site& site) {
  return {.ignore_fp = !passes_data_on(site.instruction.opcode)};
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

}  // namespace tilecast::ir::verification
