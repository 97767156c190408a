#include "ir/stablehlo/lowering.h"

#include <algorithm>
#include <charconv>

#include "ir/infer/shape_inference.h"
#include "ir/literal.h"
#include "ir/ops/op_row.h"
#include "ir/stablehlo/rules.h"
#include "ir/stablehlo/shape_values.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir::stablehlo {
namespace {

constexpr std::size_t kMostInstructions = std::size_t{4} << 20;

// Applies `#stablehlo.bounds<?, 4>` to the shape.
void apply_bounds(Shape& shape, std::string_view encoding) {
  const std::size_t open = encoding.find("bounds<");
  if (open == std::string_view::npos) return;
  std::string_view rest = encoding.substr(open + 7);
  for (std::size_t i = 0; i < shape.dims.size() && !rest.empty(); ++i) {
    const std::size_t comma = std::min(rest.find_first_of(",>"), rest.size());
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), size);
    if (error == std::errc() && size >= 0 && shape.dims[i] == kUnboundedSize) {
      shape.dims[i] = size;
      shape.set_dynamic(static_cast<int>(i));
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
}

// Fills missing sizes of `shape` from `known`.
void fill_sizes(Shape& shape, const Shape& known) {
  if (shape.dtype == DType::kInvalid) {
    shape = known;
  } else if (shape.is_tuple() && known.elements.size() == shape.elements.size()) {
    for (std::size_t i = 0; i < shape.elements.size(); ++i) {
      fill_sizes(shape.elements[i], known.elements[i]);
    }
  } else if (shape.is_array() && known.is_array() && shape.dims.size() == known.dims.size()) {
    for (std::size_t i = 0; i < shape.dims.size(); ++i) {
      if (shape.dims[i] == kUnboundedSize) shape.dims[i] = known.dims[i];
    }
  }
}

void clear_sizes(Shape& shape) {
  for (Shape& element : shape.elements) clear_sizes(element);
  std::replace(shape.dims.begin(), shape.dims.end(), kUnboundedSize, std::int64_t{0});
}

// Whether any op has computed sizes.
bool has_dynamic_ops(const Operation& op) {
  const std::string_view name = op.name;
  const Attribute* target = op.find("call_target_name");
  const bool moves = name.ends_with(".dynamic_slice") || name.ends_with(".dynamic_update_slice");
  if ((!moves && name.find("dynamic_") != std::string_view::npos) || name.starts_with("shape.") ||
      name.starts_with("tensor.") || name.ends_with("get_dimension_size") ||
      (target != nullptr && target->string.starts_with("stablehlo.dynamic_"))) {
    return true;
  }
  for (const Region& region : op.regions) {
    for (const mlir::Block& block : region.blocks) {
      if (std::any_of(block.operations.begin(), block.operations.end(), has_dynamic_ops)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void Lowering::read_types() {
  shapes_.reserve(tree_.types.size());
  for (const mlir::Type& type : tree_.types) {
    Shape shape = type.shape;
    apply_bounds(shape, type.encoding);
    fill_default_layouts(shape);
    folds_ = folds_ || shape.is_unbounded();
    quantised_ = quantised_ || !type.quantised.empty();
    shapes_.push_back(std::move(shape));
  }
  folds_ = folds_ || has_dynamic_ops(module_op_);
  bindings_.resize(tree_.values.size());
  marks_.resize(tree_.values.size(), 0);
}

void Lowering::warn(const std::string& message) {
  if (warned_.insert(message).second) module_.warnings.push_back(message);
}

const Shape& Lowering::written(ValueId value) const {
  return shapes_[tree_.values[value.index()].type.index()];
}

Shape Lowering::written_results(const Operation& op) const {
  if (op.result_count == 1) return written(op.first_result);
  std::vector<Shape> elements;
  for (std::uint32_t i = 0; i < op.result_count; ++i) elements.push_back(written(op.result(i)));
  return Shape::tuple(std::move(elements));
}

const Shape& Lowering::shape(InstrId id) const {
  return scopes_.back()->computation.at(id).shape;
}

const Integers* Lowering::known(ValueId value) const {
  const auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

void Lowering::set_known(ValueId value, Integers values) {
  known_[value] = std::move(values);
}

std::optional<Integers> Lowering::known_operand(const Operation& op, std::size_t index) const {
  if (index >= op.operands.size()) fail(op, "needs at least {} operands", index + 1);
  const Integers* values = known(op.operands[index]);
  return values == nullptr ? std::nullopt : std::optional<Integers>(*values);
}

const Scope* Lowering::scope_of(ValueId value) const {
  const std::uint32_t serial = bindings_[value.index()].scope;
  const auto found = std::find_if(scopes_.rbegin(), scopes_.rend(),
                                  [serial](const Scope* scope) { return scope->serial == serial; });
  return found == scopes_.rend() ? nullptr : *found;
}

bool Lowering::is_constant(ValueId value) const {
  if (known_.contains(value)) return true;
  const Scope* home = scope_of(value);
  if (home == nullptr) return false;
  const Instruction& found = home->computation.at(bindings_[value.index()].id);
  return found.opcode == Opcode::kConstant ||
         (found.opcode == Opcode::kBroadcast &&
          home->computation.at(found.operands[0]).opcode == Opcode::kConstant);
}

// Adds an outer constant, or a value with known numbers, as a constant of the current computation.
InstrId Lowering::clone_constant(ValueId value) {
  const Scope* home = scope_of(value);
  if (home == nullptr || known_.contains(value)) {
    Shape shape = resolved(tree_.module, written(value), nullptr);
    Literal numbers = literal_of(shape, known_.at(value));
    return literal(std::move(numbers), std::move(shape), tree_.values[value.index()].offset);
  }
  Instruction copy = home->computation.at(bindings_[value.index()].id);
  copy.name.clear();
  if (copy.opcode == Opcode::kBroadcast) {
    Instruction number = home->computation.at(copy.operands[0]);
    number.name.clear();
    copy.operands[0] = add(std::move(number));
  }
  return add(std::move(copy));
}

InstrId Lowering::use(ValueId value, std::size_t offset) {
  const Binding binding = bindings_[value.index()];
  if (binding.scope == scope().serial) return binding.id;
  const auto local = scope().local.find(value);
  if (local != scope().local.end()) return local->second;
  if (!is_constant(value)) {
    fail_at(offset, "%{} comes from outside of this region, which only constants may",
            tree_.values[value.index()].name);
  }
  const InstrId id = clone_constant(value);
  scope().local[value] = id;
  return id;
}

InstrId Lowering::operand(const Operation& op, std::size_t index) {
  if (index >= op.operands.size()) {
    fail(op, "needs at least {} operands, but has {}", index + 1, op.operands.size());
  }
  return use(op.operands[index], op.offset);
}

std::vector<InstrId> Lowering::operands(const Operation& op, std::size_t first) {
  std::vector<InstrId> ids;
  for (std::size_t i = first; i < op.operands.size(); ++i) ids.push_back(operand(op, i));
  return ids;
}

Instruction Lowering::instruction(const Operation& op, Opcode opcode) {
  Instruction made;
  made.opcode = opcode;
  made.attrs = attributes_of(opcode);
  made.shape = written_results(op);
  made.offset = op.offset;
  annotate(op, made);
  return made;
}

Instruction Lowering::applied(const Operation& op, Opcode opcode) {
  return applied(op, opcode, op.operands.size());
}

Instruction Lowering::applied(const Operation& op, Opcode opcode, std::size_t count) {
  Instruction made = instruction(op, opcode);
  for (std::size_t i = 0; i < count; ++i) made.operands.push_back(operand(op, i));
  return made;
}

InstrId Lowering::add(Instruction instruction) {
  if (++instruction_count_ > kMostInstructions) {
    fail_at(instruction.offset, "more than {} instructions", kMostInstructions);
  }
  Computation& computation = scope().computation;
  if (instruction.name.empty()) {
    const fmt::format_int number(instruction_count_);
    instruction.name = name(instruction.opcode);
    instruction.name += '.';
    instruction.name.append(number.data(), number.size());
  }
  const bool unset = instruction.shape.dtype == DType::kInvalid;
  if (unset || (folds_ && instruction.shape.is_unbounded())) {
    std::optional<Shape> inferred;
    try {
      Instruction free = instruction;
      clear_sizes(free.shape);
      const bool given = is_one_of(free.opcode, {Opcode::kBroadcast, Opcode::kReshape});
      if (!given) inferred = infer_shape(module_, computation, free);
    } catch (const Error& error) {
      fail_at(instruction.offset, "{}: {}", name(instruction.opcode), error.what());
    }
    if (inferred) fill_sizes(instruction.shape, *inferred);
    if (instruction.shape.is_unbounded()) {
      Operation at;
      at.name = name(instruction.opcode);
      at.offset = instruction.offset;
      instruction.shape = resolved(at, std::move(instruction.shape), nullptr);
    }
    fill_default_layouts(instruction.shape);
  }
  computation.instructions.push_back(std::move(instruction));
  return InstrId(computation.instructions.size() - 1);
}

InstrId Lowering::emit(const Operation& op, Opcode opcode, std::vector<InstrId> operands,
                       Shape shape) {
  Instruction made;
  made.opcode = opcode;
  made.attrs = attributes_of(opcode);
  made.offset = op.offset;
  made.metadata = metadata(op.location);
  made.operands = std::move(operands);
  made.shape = std::move(shape);
  return add(std::move(made));
}

InstrId Lowering::tuple(const Operation& op, std::vector<InstrId> elements) {
  std::vector<Shape> shapes;
  for (const InstrId id : elements) shapes.push_back(shape(id));
  return emit(op, Opcode::kTuple, std::move(elements), Shape::tuple(std::move(shapes)));
}

InstrId Lowering::element(const Operation& op, InstrId tuple, std::int64_t index) {
  Instruction made;
  made.opcode = Opcode::kGetTupleElement;
  made.attrs = IndexAttrs{index};
  made.offset = op.offset;
  made.operands = {tuple};
  const Shape& whole = shape(tuple);
  if (!whole.is_tuple() || static_cast<std::size_t>(index) >= whole.elements.size()) {
    fail(op, "has no element {}", index);
  }
  made.shape = whole.elements[static_cast<std::size_t>(index)];
  return add(std::move(made));
}

void Lowering::bind(ValueId value, InstrId id) {
  bindings_[value.index()] = {id, scope().serial};
  if (folds_) known_.erase(value);
}

void Lowering::define(const Operation& op, InstrId id) {
  if (op.result_count == 1) return bind(op.first_result, id);
  for (std::uint32_t i = 0; i < op.result_count; ++i) bind(op.result(i), element(op, id, i));
}

Shape Lowering::resolved(const Operation& op, Shape shape, const Integers* sizes) {
  if (shape.is_tuple()) {
    for (Shape& element : shape.elements) element = resolved(op, std::move(element), nullptr);
    return shape;
  }
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    if (shape.dims[i] != kUnboundedSize) continue;
    if (sizes != nullptr && i < sizes->size() && (*sizes)[i] >= 0) {
      shape.dims[i] = (*sizes)[i];
      continue;
    }
    if (!options_.bound) {
      fail(op, "a size of its result is unknown (`?`); give one with --bound");
    }
    warn(fmt::format("{}: unknown sizes (`?`) taken as {} (--bound)", op.name, *options_.bound));
    shape.dims[i] = *options_.bound;
  }
  fill_default_layouts(shape);
  return shape;
}

void Lowering::lower(const Operation& op) {
  if (folds_ && fold(*this, op)) return;
  if (quantised_ && lower_quantised(*this, op)) return;
  const Rule* rule = find_rule(op.name);
  if (rule != nullptr) return rule->lower(*this, op, rule->opcode);
  const std::string_view dialect = op.name.substr(0, op.name.find('.'));
  constexpr std::string_view kOurs[] = {"stablehlo", "mhlo", "chlo", "func", "builtin", "sdy"};
  const bool ours = std::find(std::begin(kOurs), std::end(kOurs), dialect) != std::end(kOurs);
  if (ours || options_.strict) fail_at(op.offset, "{} has no HLO form", op.name);
  lower_foreign(*this, op);
}

std::vector<ValueId> Lowering::lower_block(const Operation& op, const mlir::Block& block) {
  for (const Operation& inner : block.operations) {
    const std::string_view verb = inner.name.substr(inner.name.rfind('.') + 1);
    if (verb == "return" || verb.ends_with("yield")) {
      return {inner.operands.begin(), inner.operands.end()};
    }
    lower(inner);
  }
  fail(op, "its region ends without a return");
}

// Converts regions and functions to computations.

namespace {

constexpr std::size_t kMostCalls = 250;  // nesting depth; the verifier allows 256
constexpr std::size_t kMostVersions = std::size_t{1} << 14;

}  // namespace

const mlir::Block& Lowering::only_block(const Operation& op, const Region& region) const {
  if (region.blocks.size() != 1) {
    fail(op, "a region of one block is expected, this has {}", region.blocks.size());
  }
  return region.blocks.front();
}

ComputationId Lowering::finish(Scope& scope, InstrId root) {
  Computation& computation = scope.computation;
  computation.root = root;
  const ComputationId id(module_.computations.size());
  module_.computations.push_back(std::move(computation));
  scopes_.pop_back();
  return id;
}

InstrId Lowering::one_value(const Operation& op, std::span<const ValueId> values) {
  std::vector<InstrId> ids;
  for (const ValueId value : values) ids.push_back(use(value, op.offset));
  return ids.size() == 1 ? ids.front() : tuple(op, std::move(ids));
}

ComputationId Lowering::region(const Operation& op, const Region& region, const RegionForm& form) {
  const mlir::Block& block = only_block(op, region);
  if (block.arguments.size() != form.arguments.size()) {
    fail(op, "its region has {} arguments, expected {}", block.arguments.size(),
         form.arguments.size());
  }
  std::vector<Shape> shapes = form.arguments;
  for (const ValueId value : form.captures) shapes.push_back(shape(use(value, op.offset)));

  Scope inner;
  inner.serial = ++serials_;
  inner.computation.name = fmt::format("region_{}", region_count_++);
  inner.computation.instructions.reserve(block.operations.size() + 2 * shapes.size());
  scopes_.push_back(&inner);
  std::vector<InstrId> values;
  const auto parameter = [&](std::string name, Shape parameter_shape) {
    Instruction made = parameter_instruction(std::move(name), std::move(parameter_shape),
                                             inner.computation.parameters.size());
    made.offset = op.offset;
    inner.computation.parameters.push_back(add(std::move(made)));
    return inner.computation.parameters.back();
  };
  if (!form.packed || shapes.size() == 1) {
    for (const Shape& each : shapes) values.push_back(parameter("", each));
  } else {
    const InstrId whole = parameter("", Shape::tuple(shapes));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      values.push_back(element(op, whole, static_cast<std::int64_t>(i)));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < block.arguments.size()) {
      bind(block.arguments[i], values[i]);
    } else {
      inner.local[form.captures[i - block.arguments.size()]] = values[i];
    }
  }
  std::vector<ValueId> results = lower_block(op, block);
  if (form.returns_captures) {
    results.insert(results.end(), form.captures.begin(), form.captures.end());
  }
  return finish(inner, one_value(op, results));
}

ComputationId Lowering::scalar_region(const Operation& op, std::size_t index) {
  const std::vector<Shape> shapes = region_shapes(op, index);
  return region(op, op.regions[index], {.arguments = shapes});
}

std::vector<Shape> Lowering::region_shapes(const Operation& op, std::size_t index) const {
  if (index >= op.regions.size()) fail(op, "lacks its region");
  std::vector<Shape> shapes;
  for (const ValueId argument : only_block(op, op.regions[index]).arguments) {
    shapes.push_back(written(argument));
  }
  return shapes;
}

std::vector<ValueId> Lowering::inline_region(const Operation& op, const Region& region,
                                             const std::vector<InstrId>& arguments) {
  const mlir::Block& block = only_block(op, region);
  if (block.arguments.size() != arguments.size()) {
    fail(op, "its region has {} arguments, expected {}", block.arguments.size(), arguments.size());
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) bind(block.arguments[i], arguments[i]);
  return lower_block(op, block);
}

void Lowering::scan(const Region& region, std::vector<ValueId>& found) {
  for (const mlir::Block& block : region.blocks) {
    for (const ValueId argument : block.arguments) marks_[argument.index()] = scans_;
    for (const Operation& op : block.operations) {
      for (const ValueId value : op.operands) {
        std::uint32_t& mark = marks_[value.index()];
        if (mark == scans_) continue;
        mark = scans_;
        if (!is_constant(value)) found.push_back(value);
      }
      for (std::uint32_t i = 0; i < op.result_count; ++i) marks_[op.result(i).index()] = scans_;
      for (const Region& inner : op.regions) scan(inner, found);
    }
  }
}

std::vector<ValueId> Lowering::captures(const std::vector<const Region*>& regions) {
  ++scans_;
  std::vector<ValueId> found;
  for (const Region* each : regions) scan(*each, found);
  return found;
}

std::string Lowering::computation_name(std::string_view wanted) {
  std::string base;
  for (const char c : wanted) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    base += plain ? c : '_';
  }
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front())) != 0)
    base = "_" + base;
  if (base.front() == '.' || base.front() == '-') base.front() = '_';
  std::string candidate = base;
  for (std::size_t i = 1; !computation_names_.insert(candidate).second; ++i) {
    candidate = fmt::format("{}.{}", base, i);
  }
  return candidate;
}

std::vector<ValueId> Lowering::lower_body(const Operation& function) {
  const std::vector<mlir::Block>& blocks = function.regions[0].blocks;
  return lower_block(function, blocks.size() == 1 ? blocks[0] : structured(*this, function));
}

const Operation* Lowering::find_symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

const Specialised& Lowering::specialise(const Operation& call, const Operation& function,
                                        const std::vector<Shape>& shapes,
                                        const std::vector<std::optional<Integers>>& known) {
  std::string key = std::to_string(function.offset);
  if (folds_) {
    for (const Shape& each : shapes) key += to_string(each) + ";";
    for (const auto& values : known) {
      key += values ? fmt::format("[{}]", fmt::join(*values, ",")) : "-";
    }
  }
  const auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  if (functions_.size() > kMostVersions) {
    fail(call, "more than {} versions of functions for arguments of different sizes",
         kMostVersions);
  }
  if (running_.size() > kMostCalls)
    fail(call, "more than {} calls inside of each other", kMostCalls);
  if (!running_.insert(&function).second) fail(call, "the function calls itself");
  if (function.regions.empty() || function.regions.front().blocks.empty()) {
    fail(call, "the function it calls is only declared");
  }
  const mlir::Block& block = function.regions.front().blocks.front();
  if (block.arguments.size() != shapes.size()) {
    fail(call, "has {} operands, the function {} arguments", shapes.size(), block.arguments.size());
  }
  Scope inner;
  inner.serial = ++serials_;
  const Attribute* name = function.find("sym_name");
  inner.computation.name = computation_name(name == nullptr ? "function" : name->string);
  inner.computation.instructions.reserve(block.operations.size() + shapes.size());
  scopes_.push_back(&inner);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Instruction parameter = parameter_instruction("", shapes[i], i);
    const mlir::Value& argument = tree_.values[block.arguments[i].index()];
    parameter.offset = argument.offset;
    inner.computation.parameters.push_back(add(std::move(parameter)));
    bind(block.arguments[i], inner.computation.parameters.back());
    if (known[i]) set_known(block.arguments[i], *known[i]);
  }
  const std::vector<ValueId> results = lower_body(function);
  Specialised made;
  const InstrId root = one_value(function, results);
  for (const ValueId value : results) {
    made.results.push_back(shape(use(value, function.offset)));
    const Integers* values = this->known(value);
    made.known.push_back(values == nullptr ? std::nullopt : std::optional<Integers>(*values));
  }
  made.computation = finish(inner, root);
  running_.erase(&function);
  return functions_.emplace(std::move(key), std::move(made)).first->second;
}

void Lowering::call(const Operation& op, const std::string& callee, Instruction instruction) {
  const Operation* function = find_symbol(callee);
  if (function == nullptr || function->name != "func.func") {
    fail(op, "no function @{} in this module", callee);
  }
  instruction.operands = operands(op);
  std::vector<Shape> shapes;
  std::vector<std::optional<Integers>> known;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    shapes.push_back(shape(instruction.operands[i]));
    known.push_back(known_operand(op, i));
  }
  const Specialised& made = specialise(op, *function, shapes, known);
  if (made.results.size() != op.result_count) {
    fail(op, "has {} results, @{} returns {}", op.result_count, callee, made.results.size());
  }
  instruction.called = {made.computation};
  instruction.shape = made.results.size() == 1 ? made.results.front() : Shape::tuple(made.results);
  define(op, add(std::move(instruction)));
  for (std::uint32_t i = 0; i < op.result_count; ++i) {
    if (made.known[i]) set_known(op.result(i), *made.known[i]);
  }
}

ComputationId Lowering::function_computation(const Operation& op, const std::string& name) {
  const Operation* function = find_symbol(name);
  if (function == nullptr || function->name != "func.func" || function->regions.empty()) {
    fail(op, "no function @{} in this module", name);
  }
  std::vector<Shape> shapes;
  for (const ValueId argument : only_block(*function, function->regions.front()).arguments) {
    shapes.push_back(resolved(op, written(argument), nullptr));
  }
  return specialise(op, *function, shapes, std::vector<std::optional<Integers>>(shapes.size()))
      .computation;
}

// Constants, including numbers that expansions need.

namespace {

// Largest constant whose values are read. Longer ones are weights; their values do not affect
// estimates and would take as long to read as everything else.
constexpr std::size_t kMostOfConstant = std::size_t{1} << 16;  // elements

}  // namespace

InstrId Lowering::constant(const Operation& op, const Attribute& value, TypeId type) {
  const mlir::Type& written_type = tree_.at(type);
  Shape shape = shapes_[type.index()];
  if (!shape.is_array() || shape.is_unbounded()) fail(op, "its type has no fixed size");
  mlir::DenseValues values;
  if (value.kind == Attribute::Kind::kDense) {
    values = mlir::read_dense(value, written_type, text_, kMostOfConstant);
  } else if (value.kind == Attribute::Kind::kFloat) {
    values.numbers = {value.number};
    values.splat = true;
  } else if (value.kind == Attribute::Kind::kInteger || value.kind == Attribute::Kind::kBool) {
    values.integers = {value.integer};
    values.numbers = {static_cast<double>(value.integer)};
    values.splat = true;
  } else {
    values.elided = true;
  }
  Instruction made = instruction(op, Opcode::kConstant);
  if (element_count(shape) <= static_cast<std::int64_t>(kMostElements) || !values.splat ||
      values.elided) {
    made.attrs = ConstantAttrs{literal_of(shape, values)};
    made.shape = std::move(shape);
    return add(std::move(made));
  }
  // A splat; XLA turns it into a broadcast.
  made.opcode = Opcode::kBroadcast;
  made.attrs = OpAttrs();
  made.operands = {constant(op, row_major(shape.dtype, {}), values)};
  made.shape = std::move(shape);
  return add(std::move(made));
}

InstrId Lowering::constant(const Operation& op, const Shape& shape,
                           const mlir::DenseValues& values) {
  return literal(literal_of(shape, values), shape, op.offset);
}

InstrId Lowering::literal(Literal value, Shape shape, std::size_t offset) {
  Instruction made;
  made.opcode = Opcode::kConstant;
  made.attrs = ConstantAttrs{std::move(value)};
  made.shape = std::move(shape);
  made.offset = offset;
  return add(std::move(made));
}

InstrId Lowering::splat(const Operation& op, double value, const Shape& like) {
  mlir::DenseValues values;
  values.numbers = {value, 0};
  values.integers = {static_cast<std::int64_t>(value)};
  values.splat = true;
  return broadcast_scalar(op, constant(op, row_major(like.dtype, {}), values), like);
}

InstrId Lowering::broadcast_scalar(const Operation& op, InstrId id, const Shape& like) {
  const Shape& from = shape(id);
  if (!from.is_scalar() || like.dims.empty()) return id;
  return emit(op, Opcode::kBroadcast, {id}, row_major(from.dtype, like.dims));
}

}  // namespace tilecast::ir::stablehlo
