// Ops with regions, calls, and annotations that hold a body.
#include <algorithm>

#include "ir/stablehlo/rules.h"

namespace tilecast::ir::stablehlo {
namespace {

void lower_call(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  lowering.call(op, lowering.required(op, "callee").string, std::move(made));
}

void lower_composite(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.raw.edit().push_back({"is_composite", "true"});
  if (const Attribute* attributes = op.find("composite_attributes")) {
    keep_frontend_attribute(made, "composite.attributes", lowering.spelt(*attributes));
  }
  keep_frontend_attribute(made, "composite.name", lowering.required(op, "name").string);
  keep_frontend_attribute(made, "composite.version",
                          std::to_string(lowering.integer(op, "version", 0)));
  lowering.call(op, lowering.required(op, "decomposition").string, std::move(made));
}

// Packs the values into one operand: the value itself, or a tuple.
InstrId packed(Lowering& lowering, const Operation& op, std::vector<InstrId> values) {
  return values.size() == 1 ? values.front() : lowering.tuple(op, std::move(values));
}

void lower_while(Lowering& lowering, const Operation& op, Opcode opcode) {
  if (op.regions.size() != 2) lowering.fail(op, "needs a condition and a body");
  RegionForm form;
  std::vector<InstrId> values = lowering.operands(op);
  for (const InstrId id : values) form.arguments.push_back(lowering.shape(id));
  form.captures = lowering.captures({&op.regions[0], &op.regions[1]});
  for (const ValueId value : form.captures) values.push_back(lowering.captured(value));
  form.packed = true;
  Instruction made = lowering.instruction(op, opcode);
  const bool single = values.size() == 1;
  made.operands = {packed(lowering, op, std::move(values))};
  made.shape = lowering.shape(made.operands.front());
  const ComputationId condition = lowering.region(op, op.regions[0], form);
  form.returns_captures = true;
  made.called = {condition, lowering.region(op, op.regions[1], form)};
  const InstrId whole = lowering.add(std::move(made));
  if (single) return lowering.define(op, whole);
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    lowering.bind(op.result(i), lowering.element(op, whole, i));
  }
}

// if, case
void lower_conditional(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0)};
  for (const Region& branch : op.regions) {
    RegionForm form;
    form.captures = lowering.captures({&branch});
    form.packed = true;
    std::vector<InstrId> values;
    for (const ValueId value : form.captures) values.push_back(lowering.captured(value));
    made.operands.push_back(packed(lowering, op, std::move(values)));
    made.called.push_back(lowering.region(op, branch, form));
  }
  lowering.define(op, lowering.add(std::move(made)));
}

template <const auto& dimensions>
void with_reducer(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  made.dimensions = lowering.integers(op, dimensions);
  made.called = {lowering.scalar_region(op, 0)};
  lowering.define(op, lowering.add(std::move(made)));
}

constexpr std::string_view kReduced = "dimensions";

void lower_sort(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = lowering.operands(op);
  if (made.operands.empty()) lowering.fail(op, "needs an operand");
  const int rank = lowering.shape(made.operands.front()).rank();
  const std::int64_t dimension = lowering.integer(op, "dimension", -1);
  made.dimensions = {dimension < 0 ? dimension + rank : dimension};
  if (lowering.flag(op, "is_stable")) made.raw.edit().push_back({"is_stable", "true"});
  made.called = {lowering.scalar_region(op, 0)};
  lowering.define(op, lowering.add(std::move(made)));
}

void bind_results(Lowering& lowering, const Operation& op, const std::vector<InstrId>& ids) {
  if (ids.size() != op.result_count) {
    lowering.fail(op, "has {} results, its region returns {}", op.result_count, ids.size());
  }
  for (std::uint32_t i = 0; i < op.result_count; ++i) lowering.bind(op.result(i), ids[i]);
}

// Ops whose body is inlined: shape.assuming, sdy.named_computation.
void lower_inline(Lowering& lowering, const Operation& op, Opcode) {
  if (op.regions.size() != 1) lowering.fail(op, "needs one region");
  const bool takes_operands =
      !op.regions[0].blocks.empty() && !op.regions[0].blocks[0].arguments.empty();
  const std::vector<InstrId> arguments =
      takes_operands ? lowering.operands(op) : std::vector<InstrId>();
  std::vector<InstrId> ids;
  const std::vector<ValueId> results = lowering.inline_region(op, op.regions[0], arguments);
  for (const ValueId value : results) ids.push_back(lowering.captured(value));
  bind_results(lowering, op, ids);
}

InstrId annotation(Lowering& lowering, const Operation& op, std::string_view target,
                   InstrId operand, Shape shape) {
  Instruction made;
  made.opcode = Opcode::kCustomCall;
  CustomCallAttrs attrs;
  attrs.target = target;
  made.attrs = std::move(attrs);
  made.offset = op.offset;
  made.operands = {operand};
  made.shape = std::move(shape);
  return lowering.add(std::move(made));
}

// The body, in which shapes are those of one device's part.
void lower_manual_computation(Lowering& lowering, const Operation& op, Opcode) {
  if (op.regions.size() != 1 || op.regions[0].blocks.size() != 1 ||
      op.regions[0].blocks[0].arguments.size() != op.operands.size()) {
    lowering.fail(op, "needs one block with an argument for every operand");
  }
  std::vector<InstrId> parts;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Shape& local = lowering.written(op.regions[0].blocks[0].arguments[i]);
    parts.push_back(annotation(lowering, op, "xla.sdy.GlobalToLocalShape", lowering.operand(op, i),
                               lowering.resolved(op, local, nullptr)));
  }
  const std::vector<ValueId> results = lowering.inline_region(op, op.regions[0], parts);
  std::vector<InstrId> ids;
  for (std::size_t i = 0; i < results.size() && i < op.result_count; ++i) {
    const Shape& global = lowering.written(op.result(static_cast<std::uint32_t>(i)));
    ids.push_back(annotation(lowering, op, "xla.sdy.LocalToGlobalShape",
                             lowering.captured(results[i]),
                             lowering.resolved(op, global, nullptr)));
  }
  bind_results(lowering, op, ids);
}

void lower_sharding_constraint(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.instruction(op, opcode);
  made.operands = {lowering.operand(op, 0)};
  CustomCallAttrs attrs;
  attrs.target = "Sharding";
  made.attrs = std::move(attrs);
  if (const Attribute* sharding = op.find("sharding")) {
    keep_frontend_attribute(made, "xla.sdy.sharding", lowering.spelt(*sharding));
  }
  lowering.define(op, lowering.add(std::move(made)));
}

void pass_through(Lowering& lowering, const Operation& op, Opcode) {
  bind_results(lowering, op, lowering.operands(op));
}

}  // namespace

std::vector<NamedRule> control_rules() {
  using enum Opcode;
  return {
      {"case", {kConditional, lower_conditional}},
      {"composite", {kCall, lower_composite}},
      {"func.call", {kCall, lower_call}},
      {"if", {kConditional, lower_conditional}},
      {"map", {kMap, with_reducer<kReduced>}},
      {"reduce", {kReduce, with_reducer<kReduced>}},
      {"sdy.data_flow_edge", {kCopy, pass_through}},
      {"sdy.manual_computation", {kCall, lower_manual_computation}},
      {"sdy.named_computation", {kCall, lower_inline}},
      {"sdy.propagation_barrier", {kCopy, pass_through}},
      {"sdy.reshard", {kCustomCall, lower_sharding_constraint}},
      {"sdy.sharding_constraint", {kCustomCall, lower_sharding_constraint}},
      {"shape.assuming", {kCall, lower_inline}},
      {"sort", {kSort, lower_sort}},
      {"tensor.cast", {kCopy, pass_through}},
      {"while", {kWhile, lower_while}},
  };
}

}  // namespace tilecast::ir::stablehlo
