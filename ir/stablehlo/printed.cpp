// Text that print_stablehlo wrote: one op is one instruction, with the names and attributes that
// ir/stablehlo/conventions.h keeps.
#include "ir/stablehlo/conventions.h"
#include "ir/stablehlo/hlo_annotations.h"
#include "ir/stablehlo/rules.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir::stablehlo {

// The tuple that the values are, one after the other, the elements of.
std::optional<InstrId> Lowering::whole(std::span<const ValueId> values) const {
  std::optional<InstrId> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto piece = pieces_.find(values[i]);
    if (piece == pieces_.end() || piece->second.index != i ||
        piece->second.whole.scope != scopes_.back()->serial ||
        found.value_or(piece->second.whole.id) != piece->second.whole.id) {
      return std::nullopt;
    }
    found = piece->second.whole.id;
  }
  return found && shape(*found).elements.size() == values.size() ? found : std::nullopt;
}

void Lowering::take_apart(const Operation& op, InstrId tuple) {
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    pieces_[op.result(i)] = {{tuple, scope().serial}, i};
  }
}

// Ops that are no instructions of their own: true when `op` is one.
bool Lowering::lower_packing(const Operation& op) {
  const bool is_parameter = op.find(kParameterAttribute) != nullptr;
  if (!is_parameter && op.find(kPackAttribute) == nullptr) return false;
  if (op.result_count != 1) fail(op, "expects one result");
  if (is_parameter) {
    std::vector<InstrId>& parameters = scope().computation.parameters;
    Instruction made = parameter_instruction("", written(op.first_result), parameters.size());
    made.offset = op.offset;
    const InstrId id = add(std::move(made));
    scope().computation.parameters.push_back(id);
    bind(op.first_result, id);
    apply_annotations(*this, op, written(op.first_result), scope().computation, id);
  } else if (op.name == "stablehlo.get_tuple_element") {
    const InstrId tuple = operand(op, 0);
    const std::int64_t index = integer(op, "index", 0);
    if (index < 0 || static_cast<std::size_t>(index) >= shape(tuple).elements.size()) {
      fail(op, "has no element {}", index);
    }
    pieces_[op.first_result] = {{tuple, scope().serial}, static_cast<std::uint32_t>(index)};
  } else {
    const std::optional<InstrId> tuple = whole(operand_values(op));
    if (!tuple) fail(op, "{}: its operands are not all results of one op", kPackAttribute);
    bind(op.first_result, *tuple);
  }
  return true;
}

ComputationId Lowering::printed_region(const Operation& op, std::size_t index) {
  const Attribute* names = op.find(kRegionsAttribute);
  if (names == nullptr || index >= names->elements.size()) {
    fail(op, "expects a name for each of its regions in {}", kRegionsAttribute);
  }
  Scope inner;
  inner.serial = ++serials_;
  inner.computation.name = computation_name(names->elements[index].string);
  scopes_.push_back(&inner);
  const std::vector<ValueId> results = lower_block(op, only_block(op, op.regions[index]));
  return finish(inner, one_value(op, results));
}

// while, case, if: the parameters of their computations are ops in the regions.
void Lowering::lower_printed_control(const Operation& op, Opcode opcode) {
  Instruction made = instruction(op, opcode);
  if (opcode == Opcode::kWhile) {
    made.operands = {one_value(op, operand_values(op))};
  } else {
    made.operands = operands(op);
    if (const Attribute* named = op.find(kOperandsAttribute)) {
      for (const Attribute& each : named->elements) {
        made.operands.push_back(find_instruction(*this, op, scope().computation, each.string));
      }
    }
  }
  for (std::size_t i = 0; i < op.regions.size(); ++i) made.called.push_back(printed_region(op, i));
  define(op, add(std::move(made)));
}

void Lowering::lower_printed(const Operation& op) {
  if (lower_packing(op)) return;
  const std::size_t before = scope().computation.instructions.size();
  if (op.result_count == 0) fail(op, "expects a result in text of tilecast");
  if (is_fallback(op)) {
    Instruction made = fallback_instruction(*this, op);
    made.operands = operands(op);
    if (made.shape.dtype == DType::kInvalid) made.shape = written_results(op);
    annotate(op, made);
    for (const std::string& callee : called_names(*this, op)) {
      made.called.push_back(function_computation(op, callee));
    }
    check_fallback(*this, op, scope().computation, made);
    define(op, add(std::move(made)));
  } else if (const Rule* rule = find_rule(op.name)) {
    const bool is_control = is_one_of(rule->opcode, {Opcode::kWhile, Opcode::kConditional});
    is_control ? lower_printed_control(op, rule->opcode) : rule->lower(*this, op, rule->opcode);
  } else {
    fail_at(op.offset, "{} has no HLO form", op.name);
  }
  const auto piece = pieces_.find(op.first_result);
  const Binding result =
      piece == pieces_.end() ? bindings_[op.first_result.index()] : piece->second.whole;
  if (result.scope != scope().serial || result.id.index() < before) {
    fail(op, "is no instruction of its own");
  }
  apply_annotations(*this, op, written_results(op), scope().computation, result.id);
}

}  // namespace tilecast::ir::stablehlo
