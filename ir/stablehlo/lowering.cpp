#include "ir/stablehlo/lowering.h"

#include <algorithm>
#include <charconv>

#include "ir/infer/shape_inference.h"
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
    Instruction copy;
    copy.opcode = Opcode::kConstant;
    copy.attrs = ConstantAttrs{literal_of(shape, known_.at(value))};
    copy.shape = std::move(shape);
    copy.offset = tree_.values[value.index()].offset;
    return add(std::move(copy));
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

}  // namespace tilecast::ir::stablehlo
