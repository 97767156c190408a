// Ops whose sizes are operands, and the related scalar and shape arithmetic. Values known before
// the program runs have already been folded (ir/stablehlo/shape_values.h).
#include <algorithm>

#include "ir/stablehlo/rules.h"

namespace tilecast::ir::stablehlo {
namespace {

// The result shape as written, with missing sizes taken from operand `index`.
Shape sized_by(Lowering& lowering, const Operation& op, std::size_t index) {
  const std::optional<Integers> sizes = lowering.known_operand(op, index);
  return lowering.resolved(op, lowering.written_results(op), sizes ? &*sizes : nullptr);
}

void lower_dynamic_broadcast(Lowering& lowering, const Operation& op, Opcode) {
  lowering.define(op, broadcast_in_dim(lowering, op, lowering.operand(op, 0),
                                       lowering.integers(op, "broadcast_dimensions"),
                                       sized_by(lowering, op, 1)));
}

void lower_dynamic_reshape(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0)};
  // A single unknown size follows from the others.
  Shape result = lowering.written_results(op);
  const std::optional<Integers> sizes = lowering.known_operand(op, 1);
  const Shape& from = lowering.shape(made.operands[0]);
  std::int64_t rest = element_count(from);
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < result.dims.size(); ++i) {
    std::int64_t& size = result.dims[i];
    if (size == kUnboundedSize && sizes && i < sizes->size() && (*sizes)[i] >= 0)
      size = (*sizes)[i];
    if (size == kUnboundedSize) ++unknown;
    if (size > 0) rest /= size;
  }
  if (unknown == 1) std::replace(result.dims.begin(), result.dims.end(), kUnboundedSize, rest);
  made.shape = lowering.resolved(op, std::move(result), nullptr);
  lowering.define(op, lowering.add(std::move(made)));
}

void lower_dynamic_iota(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.shape = sized_by(lowering, op, 0);
  made.attrs = IndexAttrs{lowering.required_integer(op, "iota_dimension")};
  lowering.define(op, lowering.add(std::move(made)));
}

std::vector<Integers> known_lists(const Lowering& lowering, const Operation& op,
                                  std::size_t first) {
  std::vector<Integers> lists;
  for (std::size_t i = first; i < first + 3; ++i) {
    const std::optional<Integers> values = lowering.known_operand(op, i);
    if (!values) return {};
    lists.push_back(*values);
    if (lists.back().size() != lists.front().size())
      lowering.fail(op, "its lists differ in length");
  }
  return lists;
}

void lower_dynamic_pad(Lowering& lowering, const Operation& op, Opcode opcode) {
  const std::vector<Integers> lists = known_lists(lowering, op, 2);
  if (lists.empty()) lowering.fail(op, "its padding is not known before it runs");
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0), lowering.operand(op, 1)};
  auto& dims = made.attrs.edit<PadAttrs>().dims;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    dims.push_back({lists[0][i], lists[1][i], lists[2][i]});
  }
  lowering.define(op, lowering.add(std::move(made)));
}

// If the limits are known only at run time, the slice has the size of the result.
void lower_real_dynamic_slice(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0)};
  const Shape from = lowering.shape(made.operands[0]);
  auto& dims = made.attrs.edit<SliceAttrs>().dims;
  const std::vector<Integers> lists = known_lists(lowering, op, 1);
  if (!lists.empty()) {
    for (std::size_t i = 0; i < lists[0].size(); ++i) {
      dims.push_back({lists[0][i], lists[1][i], lists[2][i]});
    }
  } else {
    made.shape = lowering.resolved(op, std::move(made.shape), nullptr);
    if (made.shape.rank() != from.rank()) lowering.fail(op, "has operands of different ranks");
    lowering.warn("real_dynamic_slice: limits that only running tells; taken from the start");
    for (std::size_t i = 0; i < from.dims.size(); ++i) {
      made.shape.dims[i] = std::min(made.shape.dims[i], from.dims[i]);
      dims.push_back({0, made.shape.dims[i], 1});
    }
  }
  lowering.define(op, lowering.add(std::move(made)));
}

// tensor.from_elements of unknown values.
void lower_from_elements(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  const Shape element = Shape::array(made.shape.dtype, {1});
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    Shape shape = element;
    shape.layout = default_layout(1);
    made.operands.push_back(
        lowering.emit(op, Opcode::kReshape, {lowering.operand(op, i)}, std::move(shape)));
  }
  made.dimensions = {0};
  lowering.define(op, lowering.add(std::move(made)));
}

// tensor.extract of a scalar.
void lower_extract(Lowering& lowering, const Operation& op, Opcode) {
  const InstrId id = lowering.operand(op, 0);
  if (!lowering.shape(id).is_scalar()) lowering.fail(op, "of an array that is not known");
  lowering.define(op, id);
}

void lower_compare_integers(Lowering& lowering, const Operation& op, Opcode opcode) {
  constexpr std::string_view kPredicates[] = {"EQ", "NE", "LT", "LE", "GT",
                                              "GE", "LT", "LE", "GT", "GE"};
  const std::int64_t predicate = lowering.required_integer(op, "predicate");
  if (predicate < 0 || predicate > 9) lowering.fail(op, "has an unknown predicate");
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  made.attrs = CompareAttrs{std::string(kPredicates[predicate]), predicate > 5 ? "UNSIGNED" : ""};
  lowering.define(op, lowering.add(std::move(made)));
}

// A constraint on shapes; assumed to hold for the chosen sizes.
void lower_constraint(Lowering&, const Operation&, Opcode) {}

void lower_unknown_size(Lowering& lowering, const Operation& op, Opcode) {
  lowering.fail(op, "its value is not known before it runs");
}

// Loads of globals: weights, whose contents are not needed.
void lower_global(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.shape = lowering.resolved(op, std::move(made.shape), nullptr);
  Literal literal;
  literal.elided = true;
  literal.text = "{...}";
  made.attrs = ConstantAttrs{std::move(literal)};
  lowering.define(op, lowering.add(std::move(made)));
}

}  // namespace

std::vector<NamedRule> dynamic_rules() {
  using enum Opcode;
  std::vector<NamedRule> rules = {
      {"compute_reshape_shape", {kReshape, lower_unknown_size}},
      {"cstr_reshapable", {kReshape, lower_constraint}},
      {"dynamic_broadcast_in_dim", {kBroadcast, lower_dynamic_broadcast}},
      {"dynamic_iota", {kIota, lower_dynamic_iota}},
      {"dynamic_pad", {kPad, lower_dynamic_pad}},
      {"dynamic_reshape", {kReshape, lower_dynamic_reshape}},
      {"real_dynamic_slice", {kSlice, lower_real_dynamic_slice}},
      {"arith.cmpi", {kCompare, lower_compare_integers}},
      {"shape.assuming_all", {kAnd, lower_constraint}},
      {"shape.const_witness", {kAnd, lower_constraint}},
      {"shape.cstr_broadcastable", {kAnd, lower_constraint}},
      {"shape.cstr_eq", {kAnd, lower_constraint}},
      {"shape.cstr_require", {kAnd, lower_constraint}},
      {"tensor.extract", {kReshape, lower_extract}},
      {"tensor.from_elements", {kConcatenate, lower_from_elements}},
      {"util.global", {kConstant, lower_constraint}},
      {"util.global.address", {kConstant, lower_constraint}},
      {"util.global.load", {kConstant, lower_global}},
      {"util.global.load.indirect", {kConstant, lower_global}},
  };
  for (const std::string_view name : {"shape.broadcast", "shape.get_extent", "shape.num_elements",
                                      "shape.shape_of", "tensor.dim", "tensor.rank"}) {
    rules.push_back({name, {kReshape, lower_unknown_size}});
  }
  static constexpr std::pair<std::string_view, Opcode> kArithmetic[] = {
      {"arith.addf", kAdd},       {"arith.addi", kAdd},           {"arith.andi", kAnd},
      {"arith.divf", kDivide},    {"arith.divsi", kDivide},       {"arith.extf", kConvert},
      {"arith.extsi", kConvert},  {"arith.index_cast", kConvert}, {"arith.maximumf", kMaximum},
      {"arith.maxsi", kMaximum},  {"arith.minimumf", kMinimum},   {"arith.minsi", kMinimum},
      {"arith.mulf", kMultiply},  {"arith.muli", kMultiply},      {"arith.negf", kNegate},
      {"arith.ori", kOr},         {"arith.remsi", kRemainder},    {"arith.select", kSelect},
      {"arith.sitofp", kConvert}, {"arith.subf", kSubtract},      {"arith.subi", kSubtract},
      {"arith.truncf", kConvert}, {"arith.trunci", kConvert},     {"arith.fptosi", kConvert},
  };
  for (const auto& [name, opcode] : kArithmetic)
    rules.push_back({name, {opcode, lower_elementwise}});
  return rules;
}

}  // namespace tilecast::ir::stablehlo
