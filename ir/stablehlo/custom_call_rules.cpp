// Custom calls: some represent HLO ops, the others are kept.
#include <algorithm>

#include "ir/stablehlo/rules.h"
#include "ir/text/hlo_lexer.h"

namespace tilecast::ir::stablehlo {
namespace {

// Layouts as lists of dimensions, minor to major, one per shape; empty if not given.
std::vector<Dims> layouts(const Lowering& lowering, const Operation& op, std::string_view name) {
  std::vector<Dims> result;
  const Attribute* found = op.find(name);
  if (found == nullptr) return result;
  for (const Attribute& each : found->elements) result.push_back(lowering.integers(each));
  return result;
}

void set_layout(const Lowering& lowering, const Operation& op, const Dims& order, Shape& shape) {
  if (!shape.is_array()) return;
  if (order.size() != shape.dims.size()) {
    lowering.fail(op, "a layout of {} dimensions for {}", order.size(), to_string(shape, false));
  }
  shape.layout = default_layout(shape.rank());
  shape.layout.edit().minor_to_major = order;
}

void keep_layouts(Lowering& lowering, const Operation& op, Instruction& made) {
  const std::vector<Dims> results = layouts(lowering, op, "result_layouts");
  if (made.shape.is_tuple() && results.size() == made.shape.elements.size()) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      set_layout(lowering, op, results[i], made.shape.elements[i]);
    }
  } else if (results.size() == 1) {
    set_layout(lowering, op, results[0], made.shape);
  }
  const std::vector<Dims> operands = layouts(lowering, op, "operand_layouts");
  if (operands.empty()) return;
  if (operands.size() != made.operands.size()) {
    lowering.fail(op, "has {} operand layouts for {} operands", operands.size(),
                  made.operands.size());
  }
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Shape shape = lowering.shape(made.operands[i]);
    set_layout(lowering, op, operands[i], shape);
    text += (i == 0 ? "" : ", ") + to_string(shape);
  }
  made.raw.edit().push_back({"operand_layout_constraints", "{" + text + "}"});
}

void keep_aliases(const Lowering& lowering, const Operation& op, Instruction& made) {
  const Attribute* aliases = op.find("output_operand_aliases");
  if (aliases == nullptr) return;
  for (const Attribute& each : aliases->elements) {
    const Dims operand = lowering.field(each, "operand_index");
    if (operand.empty()) lowering.fail(op, "an alias without operand_index");
    made.aliasing.edit().push_back({lowering.field(each, "output_tuple_indices"), operand.front(),
                                    lowering.field(each, "operand_tuple_indices"),
                                    /*must_alias=*/false});
  }
}

void keep_config(const Operation& op, Instruction& made) {
  const Attribute* config = op.find("mhlo.backend_config");
  if (config == nullptr) config = op.find("backend_config");
  if (config == nullptr) return;
  if (config->kind == Attribute::Kind::kString) {
    if (!config->string.empty()) made.backend_config = "\"" + escape(config->string) + "\"";
  } else if (!config->fields.empty()) {
    made.backend_config = std::string(config->text);
  }
}

void lower_opaque_call(Lowering& lowering, const Operation& op, Instruction made,
                       std::string target) {
  made.operands = lowering.operands(op);
  made.shape = lowering.resolved(op, std::move(made.shape), nullptr);
  CustomCallAttrs attrs;
  attrs.target = std::move(target);
  attrs.has_side_effect = lowering.flag(op, "has_side_effect") || op.result_count == 0;
  made.attrs = std::move(attrs);
  constexpr std::string_view kVersions[] = {"", "", "API_VERSION_STATUS_RETURNING",
                                            "API_VERSION_STATUS_RETURNING_UNIFIED",
                                            "API_VERSION_TYPED_FFI"};
  const std::int64_t version = lowering.integer(op, "api_version", 1);
  if (version >= 2 && version <= 4) {
    made.raw.edit().push_back({"api_version", std::string(kVersions[version])});
  }
  keep_config(op, made);
  keep_layouts(lowering, op, made);
  keep_aliases(lowering, op, made);
  if (const Attribute* called = op.find("called_computations")) {
    for (const Attribute& each : called->elements) {
      made.called.push_back(lowering.function_computation(op, each.string));
    }
  }
  lowering.define(op, lowering.add(std::move(made)));
}

// stablehlo.dynamic_reduce_window(operands.., inits.., sizes, strides, base dilations, window
// dilations, padding)
void lower_dynamic_window(Lowering& lowering, const Operation& op) {
  constexpr std::size_t kSizes = 5;
  if (op.operands.size() < 2 + kSizes) lowering.fail(op, "needs operands and five lists of sizes");
  const std::size_t first = op.operands.size() - kSizes;
  Integers lists[kSizes];
  for (std::size_t i = 0; i < kSizes; ++i) {
    const std::optional<Integers> values = lowering.known_operand(op, first + i);
    if (!values) lowering.fail(op, "its window is not known before it runs");
    lists[i] = *values;
  }
  Window window(lists[0].size());
  for (const std::size_t i : {1U, 2U, 3U}) {
    if (lists[i].size() != window.size()) lowering.fail(op, "its lists differ in length");
  }
  if (lists[4].size() != 2 * window.size()) lowering.fail(op, "its padding must be pairs");
  for (std::size_t i = 0; i < window.size(); ++i) {
    window[i] = {lists[0][i], lists[1][i], lists[4][2 * i], lists[4][2 * i + 1], lists[2][i],
                 lists[3][i], false};
  }
  Instruction made = lowering.instruction(op, Opcode::kReduceWindow);
  made.operands = lowering.operands(op);
  made.operands.resize(first);
  const Attribute& called = lowering.required(op, "called_computations");
  if (called.elements.size() != 1) lowering.fail(op, "needs one called computation");
  made.called = {lowering.function_computation(op, called.elements[0].string)};
  lower_reduce_window(lowering, op, std::move(made), window);
}

void lower_custom_call(Lowering& lowering, const Operation& op, Opcode opcode) {
  const std::string target = lowering.required(op, "call_target_name").string;
  if (target == "shape_assertion") return;  // assumed to hold for the chosen sizes
  if (target == "stablehlo.dynamic_reduce_window") return lower_dynamic_window(lowering, op);
  if (target == "stablehlo.dynamic_top_k") {
    const std::optional<Integers> k = lowering.known_operand(op, 1);
    if (!k || k->size() != 1) lowering.fail(op, "its k is not known before it runs");
    return lower_top_k(lowering, op, k->front());
  }
  if (target == "mhlo.topk") {
    const Attribute* attributes = op.find("mhlo.attributes");
    const Dims k = attributes == nullptr ? Dims() : lowering.field(*attributes, "k");
    if (k.size() == 1) return lower_top_k(lowering, op, k.front());
  }
  if (target.starts_with("mhlo.") && op.operands.size() == 1) {
    const std::optional<Opcode> unary = parse_opcode(target.substr(5));
    if (unary && op_class(*unary) == OpClass::kTranscendental) {
      return lower_elementwise(lowering, op, *unary);
    }
  }
  lower_opaque_call(lowering, op, lowering.instruction(op, opcode), target);
}

// Ops of the check dialect, which compare on the host.
void lower_check(Lowering& lowering, const Operation& op, Opcode opcode) {
  lower_opaque_call(lowering, op, lowering.instruction(op, opcode), std::string(op.name));
}

}  // namespace

void lower_foreign(Lowering& lowering, const Operation& op) {
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    const Shape& shape = lowering.written(op.result(i));
    if (!shape.is_array() && !shape.is_token()) {
      lowering.fail_at(op.offset, "{} has no HLO form", op.name);
    }
  }
  lowering.warn(
      fmt::format("{}: an op of another dialect, kept as an opaque custom call", op.name));
  lower_opaque_call(lowering, op, lowering.instruction(op, Opcode::kCustomCall),
                    std::string(op.name));
}

void lower_top_k(Lowering& lowering, const Operation& op, std::int64_t k) {
  Instruction made = lowering.instruction(op, Opcode::kTopK);
  made.operands = {lowering.operand(op, 0)};
  made.attrs = IndexAttrs{k};
  made.raw.edit().push_back({"largest", "true"});
  lowering.define(op, lowering.add(std::move(made)));
}

std::vector<NamedRule> custom_call_rules() {
  using enum Opcode;
  std::vector<NamedRule> rules = {{"custom_call", {kCustomCall, lower_custom_call}}};
  for (const std::string_view name :
       {"check.expect_almost_eq", "check.expect_almost_eq_const", "check.expect_close",
        "check.expect_eq", "check.expect_eq_const", "check.expect_serialized_eq"}) {
    rules.push_back({name, {kCustomCall, lower_check}});
  }
  return rules;
}

}  // namespace tilecast::ir::stablehlo
