// Ops with regions, calls, and annotations that hold a body.
#include <algorithm>

#include "ir/stablehlo/rules.h"
#include "ir/text/hlo_lexer.h"

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
  Instruction made = lowering.applied(op, opcode, 1);
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
  Instruction made = lowering.applied(op, opcode);
  made.dimensions = lowering.integers(op, dimensions);
  made.called = {lowering.scalar_region(op, 0)};
  lowering.define(op, lowering.add(std::move(made)));
}

constexpr std::string_view kReduced = "dimensions";

void lower_sort(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode);
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
  Instruction made = lowering.applied(op, opcode, 1);
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

// Custom calls: some represent HLO ops, the others are kept.

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
  Instruction made = lowering.applied(op, Opcode::kReduceWindow);
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
  Instruction made = lowering.applied(op, Opcode::kTopK, 1);
  made.attrs = IndexAttrs{k};
  made.raw.edit().push_back({"largest", "true"});
  lowering.define(op, lowering.add(std::move(made)));
}

// Ops whose sizes are operands, and the related scalar and shape arithmetic. Values known before
// the program runs have already been folded (ir/stablehlo/shape_values.h).

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
  Instruction made = lowering.applied(op, opcode, 1);
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
  Instruction made = lowering.applied(op, opcode, 2);
  auto& dims = made.attrs.edit<PadAttrs>().dims;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    dims.push_back({lists[0][i], lists[1][i], lists[2][i]});
  }
  lowering.define(op, lowering.add(std::move(made)));
}

// If the limits are known only at run time, the slice has the size of the result.
void lower_real_dynamic_slice(Lowering& lowering, const Operation& op, Opcode opcode) {
  Instruction made = lowering.applied(op, opcode, 1);
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
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    made.operands.push_back(lowering.emit(op, Opcode::kReshape, {lowering.operand(op, i)},
                                          row_major(made.shape.dtype, {1})));
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
  Instruction made = lowering.applied(op, opcode);
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

std::span<const NamedRule> control_rules() {
  using enum Opcode;
  static constexpr NamedRule kRules[] = {
      {"case if", {kConditional, lower_conditional}},
      {"composite", {kCall, lower_composite}},
      {"func.call", {kCall, lower_call}},
      {"map", {kMap, with_reducer<kReduced>}},
      {"reduce", {kReduce, with_reducer<kReduced>}},
      {"sdy.data_flow_edge sdy.propagation_barrier tensor.cast", {kCopy, pass_through}},
      {"sdy.manual_computation", {kCall, lower_manual_computation}},
      {"sdy.named_computation shape.assuming", {kCall, lower_inline}},
      {"sdy.reshard sdy.sharding_constraint", {kCustomCall, lower_sharding_constraint}},
      {"sort", {kSort, lower_sort}},
      {"while", {kWhile, lower_while}},
      {"custom_call", {kCustomCall, lower_custom_call}},
      {"check.expect_almost_eq check.expect_almost_eq_const check.expect_close check.expect_eq "
       "check.expect_eq_const check.expect_serialized_eq",
       {kCustomCall, lower_check}},
      {"compute_reshape_shape shape.broadcast shape.get_extent shape.num_elements shape.shape_of "
       "tensor.dim tensor.rank",
       {kReshape, lower_unknown_size}},
      {"cstr_reshapable", {kReshape, lower_constraint}},
      {"dynamic_broadcast_in_dim", {kBroadcast, lower_dynamic_broadcast}},
      {"dynamic_iota", {kIota, lower_dynamic_iota}},
      {"dynamic_pad", {kPad, lower_dynamic_pad}},
      {"dynamic_reshape", {kReshape, lower_dynamic_reshape}},
      {"real_dynamic_slice", {kSlice, lower_real_dynamic_slice}},
      {"arith.cmpi", {kCompare, lower_compare_integers}},
      {"shape.assuming_all shape.const_witness shape.cstr_broadcastable shape.cstr_eq "
       "shape.cstr_require",
       {kAnd, lower_constraint}},
      {"tensor.extract", {kReshape, lower_extract}},
      {"tensor.from_elements", {kConcatenate, lower_from_elements}},
      {"util.global util.global.address", {kConstant, lower_constraint}},
      {"util.global.load util.global.load.indirect", {kConstant, lower_global}},
      {"arith.addf arith.addi", {kAdd, lower_elementwise}},
      {"arith.andi", {kAnd, lower_elementwise}},
      {"arith.divf arith.divsi", {kDivide, lower_elementwise}},
      {"arith.extf arith.extsi arith.index_cast arith.sitofp arith.truncf arith.trunci "
       "arith.fptosi",
       {kConvert, lower_elementwise}},
      {"arith.maximumf arith.maxsi", {kMaximum, lower_elementwise}},
      {"arith.minimumf arith.minsi", {kMinimum, lower_elementwise}},
      {"arith.mulf arith.muli", {kMultiply, lower_elementwise}},
      {"arith.negf", {kNegate, lower_elementwise}},
      {"arith.ori", {kOr, lower_elementwise}},
      {"arith.remsi", {kRemainder, lower_elementwise}},
      {"arith.select", {kSelect, lower_elementwise}},
      {"arith.subf arith.subi", {kSubtract, lower_elementwise}},
  };
  return kRules;
}

}  // namespace tilecast::ir::stablehlo
