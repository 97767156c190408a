// Converts regions and functions to computations.
#include <algorithm>

#include "ir/stablehlo/rules.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir::stablehlo {
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

}  // namespace tilecast::ir::stablehlo
