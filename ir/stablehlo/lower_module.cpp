// Lowers the module, its entry function and the attributes of its arguments.
#include <algorithm>

#include "ir/stablehlo/annotations.h"
#include "ir/stablehlo/lowering.h"
#include "ir/stablehlo/shape_values.h"
#include "ir/text/module_parser.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir::stablehlo {
namespace {

const std::vector<Operation>& body_of(const Operation& module) {
  static const std::vector<Operation> kNone;
  const bool has_body = !module.regions.empty() && !module.regions[0].blocks.empty();
  return has_body ? module.regions[0].blocks[0].operations : kNone;
}

// The module that contains the functions; the first one if the file has several.
const Operation& main_module(const Operation& module) {
  const Operation* inner = nullptr;
  for (const Operation& op : body_of(module)) {
    if (op.name == "func.func") return module;
    if (op.name == "builtin.module" && inner == nullptr) inner = &op;
  }
  return inner == nullptr ? module : main_module(*inner);
}

// The attribute dictionary of argument or result `index`.
const Attribute* dictionary_at(const Operation& function, std::string_view name,
                               std::size_t index) {
  const Attribute* all = function.find(name);
  return all != nullptr && index < all->elements.size() ? &all->elements[index] : nullptr;
}

}  // namespace

Lowering::Lowering(const mlir::Tree& tree, const base::SourceText& text, const ReadOptions& options)
    : AttributeValues(tree, text), options_(options), module_op_(main_module(tree.module)) {
  read_types();
}

void Lowering::read_module_attributes() {
  const Operation& module = module_op_;
  const Attribute* name = module.find("sym_name");
  module_.name =
      computation_name(name == nullptr || name->string.empty() ? "module" : name->string);
  computation_names_.clear();
  module_.replica_count = std::max<std::int64_t>(integer(module, "mhlo.num_replicas", 1), 1);
  module_.num_partitions = std::max<std::int64_t>(integer(module, "mhlo.num_partitions", 1), 1);
  const Attribute* aliases = module.find("mhlo.input_output_alias");
  if (aliases == nullptr) return;
  for (const Attribute& entry : aliases->elements) {
    const Attribute* target = entry.find("alias");
    if (target == nullptr) continue;
    const Dims parameter = field(*target, "parameter_number");
    const Attribute* kind = target->find("kind");
    module_.input_output_alias.push_back(
        {field(entry, "output_index"), parameter.empty() ? 0 : parameter.front(),
         field(*target, "parameter_index"), kind != nullptr && word(*kind) == "must_alias"});
  }
}

const Operation& Lowering::entry_function() const {
  const Operation* last = nullptr;
  const Operation* last_public = nullptr;
  for (const Operation& op : body_of(module_op_)) {
    if (op.name != "func.func" || op.regions.empty() || op.regions[0].blocks.empty()) continue;
    const Attribute* name = op.find("sym_name");
    if (name != nullptr && name->string == "main") return op;
    last = &op;
    const Attribute* visibility = op.find("sym_visibility");
    if (visibility == nullptr || visibility->string == "public") last_public = &op;
  }
  if (last == nullptr) fail_at(0, "no function with a body in this module");
  return last_public != nullptr ? *last_public : *last;
}

// Reads sharding, aliasing and donation of an argument of the entry.
void Lowering::describe_argument(const Operation& function, std::size_t index,
                                 Instruction& parameter) {
  const Attribute* attributes = dictionary_at(function, "arg_attrs", index);
  if (attributes == nullptr) return;
  const auto number = static_cast<std::int64_t>(index);
  if (const Attribute* sharding = attributes->find("mhlo.sharding")) {
    keep_sharding(parameter, sharding->string);
  }
  if (const Attribute* sharding = attributes->find("sdy.sharding")) {
    keep_frontend_attribute(parameter, "xla.sdy.sharding", spelt(*sharding));
  }
  if (const Attribute* kind = attributes->find("mhlo.memory_kind")) {
    keep_frontend_attribute(parameter, "mhlo.memory_kind", kind->string);
  }
  if (const Attribute* output = attributes->find("tf.aliasing_output")) {
    const Dims at = integers(*output);
    const Attribute* type = function.find("function_type");
    const bool several =
        type == nullptr || !type->type.valid() || tree_.at(type->type).results.size() != 1;
    module_.input_output_alias.push_back({several ? at : Dims(), number, {}, /*must_alias=*/false});
  }
  if (const Attribute* donor = attributes->find("jax.buffer_donor");
      donor != nullptr && donor->integer != 0) {
    donors_ += fmt::format("{}({}, {{}})", donors_.empty() ? "" : ", ", index);
  }
}

void Lowering::lower_entry(const Operation& function) {
  const mlir::Block& block = function.regions[0].blocks[0];
  Scope entry;
  entry.serial = ++serials_;
  const Attribute* name = function.find("sym_name");
  entry.computation.name = computation_name(name == nullptr ? "main" : name->string);
  entry.computation.instructions.reserve(block.operations.size() + block.arguments.size() + 1);
  scopes_.push_back(&entry);
  running_.insert(&function);
  bool only_sizes = folds_ && options_.bound;
  for (std::size_t i = 0; i < block.arguments.size(); ++i) {
    const ValueId value = block.arguments[i];
    const mlir::Value& argument = tree_.values[value.index()];
    Shape shape = written(value);
    if (shape.is_unbounded() && !options_.bound) {
      fail_at(argument.offset, "argument %{} is {}, of unknown size; give one with --bound",
              argument.name, tree_.type_of(value).text);
    }
    Operation arguments;
    arguments.name = "arguments";
    shape = resolved(arguments, std::move(shape), nullptr);
    only_sizes = only_sizes && shape.is_scalar() && is_integer(shape.dtype);
    Instruction parameter = parameter_instruction(std::string(argument.name), std::move(shape), i);
    if (!is_word(parameter.name)) parameter.name.clear();
    parameter.offset = argument.offset;
    describe_argument(function, i, parameter);
    entry.computation.parameters.push_back(add(std::move(parameter)));
    bind(value, entry.computation.parameters.back());
    // JAX passes symbolic sizes as leading scalar arguments.
    if (only_sizes) set_known(value, {*options_.bound});
  }
  const InstrId root = one_value(function, lower_body(function));
  module_.entry = finish(entry, root);
}

Module Lowering::run() {
  read_module_attributes();
  for (const std::string& warning : tree_.warnings) warn(warning);
  if (&module_op_ != &tree_.module && body_of(tree_.module).size() > 1) {
    warn(fmt::format("{} modules in one file: the first is read", body_of(tree_.module).size()));
  }
  for (const Operation& op : body_of(module_op_)) {
    if (const Attribute* name = op.find("sym_name")) symbols_[name->string] = &op;
    if (op.name == "sdy.mesh") warn("sdy.mesh: shardings along its axes are kept, not applied");
  }
  lower_entry(entry_function());
  if (!donors_.empty()) module_.raw.push_back({"buffer_donor", "{ " + donors_ + " }"});
  const Computation& entry = module_.entry_computation();
  for (const InstrId id : entry.parameters) {
    module_.entry_parameter_layouts.push_back(entry.at(id).shape);
  }
  module_.entry_result_layout = entry.root_instruction().shape;
  return std::move(module_);
}

}  // namespace tilecast::ir::stablehlo

namespace tilecast::ir {

Module parse_stablehlo(const base::SourceText& text, const ReadOptions& options) {
  const mlir::Tree tree = mlir::parse_mlir(text);
  Module module = stablehlo::Lowering(tree, text, options).run();
  module.file = text.file();
  verify(module, &text);
  return module;
}

}  // namespace tilecast::ir
