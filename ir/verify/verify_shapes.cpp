// Comparison of shapes with a chosen strictness, and whether an instruction has the shape its
// operands give it.
#include "ir/infer/shape_inference.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

bool same_layout(const Layout& a, const Layout& b, const Match& how) {
  if (a.minor_to_major != b.minor_to_major) return false;
  if (how.minor_to_major_only) return true;
  return (how.ignore_tiles || (a.tiles == b.tiles && a.tail_alignment == b.tail_alignment)) &&
         a.element_bits == b.element_bits &&
         (how.ignore_memory_space || a.memory_space == b.memory_space);
}

const Shape& content(const Shape& shape) {
  return shape.dtype == DType::kBuffer && shape.elements.size() == 1 ? shape.elements[0] : shape;
}

// These reinterpret or pass on data: neither the element type nor the layout may change.
bool passes_data_on(Opcode opcode) {
  using enum Opcode;
  return is_one_of(
      opcode, {kBitcast, kCall, kConditional, kConstant, kCopyDone, kCopyStart, kCustomCall,
               kDynamicUpdateSlice, kGetTupleElement, kInfeed, kOutfeed, kOptBarrier, kParameter,
               kRecv, kRecvDone, kSend, kSendDone, kTuple, kWhile});
}

bool may_mix_precision(Opcode opcode) {
  using enum Opcode;
  return is_one_of(opcode, {kCall,
                            kConditional,
                            kConstant,
                            kConvolution,
                            kDot,
                            kRaggedDot,
                            kScaledDot,
                            kAllReduce,
                            kAllReduceStart,
                            kAllReduceDone,
                            kAllGather,
                            kAllGatherStart,
                            kAllGatherDone,
                            kAsyncDone,
                            kAsyncUpdate,
                            kAsyncStart,
                            kCollectivePermute,
                            kCollectivePermuteStart,
                            kCollectivePermuteDone,
                            kCopyDone,
                            kCopyStart,
                            kCustomCall,
                            kDomain,
                            kFusion,
                            kGetTupleElement,
                            kOptBarrier,
                            kInfeed,
                            kOutfeed,
                            kParameter,
                            kRecv,
                            kRecvDone,
                            kReducePrecision,
                            kReduceWindow,
                            kSend,
                            kSendDone,
                            kSort,
                            kTuple,
                            kWhile,
                            kScan,
                            kRng});  // rng is judged by its own rule
}

void check_one_precision(const Site& site, const Shape& shape, DType& seen) {
  for_each_leaf(shape, [&](const Shape& leaf) {
    if (!is_floating(leaf.dtype)) return;
    if (seen == DType::kInvalid) seen = leaf.dtype;
    fail_if(seen != leaf.dtype,
            "Seen floating point types of different precisions in {}, but mixed precision is "
            "disallowed.",
            site.instruction.name);
  });
}

bool copy_agrees(const Site& site, const Shape& expected, const Match& loose) {
  const Shape& actual = site.instruction.shape;
  if (!site.options.layout_sensitive || !actual.layout || !expected.layout) {
    return match(actual, expected, loose);
  }
  const int to = actual.memory_space();
  const int from = expected.memory_space();
  if (to == from || (to != kHostMemory && from != kHostMemory))
    return match(actual, expected, loose);
  if (to == kHostMemory) return actual.dtype == expected.dtype && match(actual, expected, loose);
  return match(actual, expected, {.layout = true, .ignore_memory_space = true});
}

// Only what passes from buffer to buffer keeps its layout; transfers compare the order alone.
Match strictness(const Site& site) {
  using enum Opcode;
  const Opcode opcode = site.instruction.opcode;
  if (!passes_data_on(opcode)) return {.ignore_fp = site.options.allow_mixed_precision};
  const bool fused_update =
      opcode == kDynamicUpdateSlice && site.facts.called_by_fusion[site.computation_id.index()];
  return {.layout = site.options.layout_sensitive,
          .minor_to_major_only = is_one_of(opcode, {kCopyStart, kSend, kRecv, kInfeed}),
          .ignore_tiles = fused_update,
          .ignore_memory_space = fused_update};
}

bool agrees(const Site& site, const Shape& expected) {
  const Match how = strictness(site);
  if (site.instruction.opcode == Opcode::kCopy) return copy_agrees(site, expected, how);
  return match(site.instruction.shape, expected, how);
}

void expect(const Site& site, const Shape& expected) {
  if (agrees(site, expected)) return;
  fail("Expected instruction to have shape equal to {}, actual shape is {}", site.shown(expected),
       site.shown(site.instruction.shape));
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
  // Throws: the index or the operand is wrong.
  expect(site, *infer_shape(site.module, site.computation, site.instruction));
}

bool is_plain_arithmetic(Opcode opcode, DType dtype) {
  using enum Opcode;
  if (is_one_of(opcode, {kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kNegate})) {
    return is_floating(dtype) || is_integer(dtype);
  }
  return is_floating(dtype) && op_class(opcode) == OpClass::kTranscendental;
}

// Most instructions do arithmetic on arrays of one shape: no inference is needed to see that.
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
      !match(source.elements[0], source.elements[1],
             {.layout = site.options.layout_sensitive, .ignore_memory_space = true})) {
    fail(
        "Source and destination buffers in CopyDone arguments need to be the same shape found {} "
        "and {}",
        site.shown(source.elements[0]), site.shown(source.elements[1]));
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
  if (!how.layout || !a.layout || !b.layout) return true;
  return same_layout(*a.layout, *b.layout, how);
}

bool same(const Site& site, const Shape& a, const Shape& b) {
  return match(a, b, {.layout = site.options.layout_sensitive});
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

bool holds_buffer(const Shape& shape) {
  if (shape.dtype == DType::kBuffer) return true;
  if (!shape.is_tuple()) return false;
  for (const Shape& element : shape.elements) {
    if (holds_buffer(element)) return true;
  }
  return false;
}

void check_result_shape(const Site& site) {
  const Instruction& instruction = site.instruction;
  if (!site.options.allow_mixed_precision && !may_mix_precision(instruction.opcode)) {
    DType seen = DType::kInvalid;
    for (std::size_t i = 0; i < site.count(); ++i) {
      check_one_precision(site, site.operand(i), seen);
    }
  }
  using enum Opcode;
  const Opcode opcode = instruction.opcode;
  // Fusions are judged with their callee. XLA derives the shapes of send and recv itself and does
  // not read them from the text.
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
