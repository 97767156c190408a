#include "ir/verify/verifier.h"

#include <algorithm>

#include "ir/schedule_order.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

class Verifier {
 public:
  Verifier(const Module& module, const base::SourceText* text) : module_(module), text_(text) {}

  void run() {
    try {
      check();
    } catch (const Error& error) {
      throw Error(located(error.what()));
    }
  }

 private:
  void check() {
    const auto at = [this](ComputationId computation, InstrId instruction) {
      computation_ = computation;
      instruction_ = instruction;
    };
    check_structure(module_, facts_, at);
    for (std::size_t i = 0; i < module_.computations.size(); ++i)
      check_computation(ComputationId(i));
    at(module_.entry, module_.entry_computation().root);
    check_entry(module_);
  }

  void check_computation(ComputationId id) {
    const Computation& computation = module_.at(id);
    computation_ = id;
    count_users(computation, users_);
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      instruction_ = InstrId(i);
      const Site site{
          {module_, computation, computation.instructions[i]}, facts_, id, instruction_, users_};
      check_instruction(site);
    }
    instruction_ = InstrId();
  }

  void check_instruction(const Site& site) {
    infer::check_operand_count(site.instruction);
    check_async(site);
    check_operation(site);
    check_result_shape(site);
    check_callees(site);
    check_collective(site);
    if (facts_.called_by_fusion[site.computation_id.index()]) check_fused(site);
  }

  void check_fused(const Site& site) const {
    const std::uint32_t users = users_.count[site.id.index()];
    if (site.is_root() && users != 0) {
      throw Error("Root of fusion " + site.computation.name + " may not have users.");
    }
  }

  [[nodiscard]] std::string located(const std::string& message) const {
    if (!computation_.valid()) return module_.name + ": " + message;
    const Computation& computation = module_.at(computation_);
    const bool known = instruction_.index() < computation.instructions.size();
    if (text_ != nullptr && known) {
      return text_->describe(computation.at(instruction_).offset, message);
    }
    std::string where = module_.name + "." + computation.name;
    if (known) where += "." + computation.at(instruction_).name;
    return where + ": " + message;
  }

  const Module& module_;
  const base::SourceText* text_;
  ModuleFacts facts_;
  Users users_;
  ComputationId computation_;
  InstrId instruction_;
};

// Checks the structure of a module: ids, parameters, sizes and acyclic graphs.

constexpr std::size_t kMaxCallDepth = 256;
constexpr int kMaxShapeDepth = 128;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

using At = std::function<void(ComputationId, InstrId)>;

// ---- shapes ------------------------------------------------------------------------------------

void check_layout_form(const Shape& shape) {
  const Dims& order = shape.layout->minor_to_major;
  fail_if(order.size() != shape.dims.size(),
          "Instruction has mismatched minor-to-major size and dimension size: {} and {}",
          order.size(), shape.dims.size());
  fail_if(!infer::is_permutation(order, shape.rank()),
          "layout minor_to_major {{{}}} is not a permutation of the {} dimensions", join(order),
          shape.rank());
}

std::int64_t array_bytes(const Shape& shape) {
  fail_if(shape.rank() > Shape::kMaxRank, "rank {} is above the limit of {}", shape.rank(),
          Shape::kMaxRank);
  if (shape.layout) check_layout_form(shape);
  std::int64_t bytes = std::max(1, (bits(shape.dtype) + 7) / 8);
  bool empty = false;
  bool too_large = false;
  for (const std::int64_t dim : shape.dims) {
    fail_if(dim == kUnboundedSize, "Unbounded dynamism is disabled for instruction");
    fail_if(dim < 0, "dimension size {} is negative", dim);
    if (dim == 0) empty = true;
    too_large = too_large || __builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes);
    too_large = too_large || bytes >= kMaxBytes;
  }
  fail_if(too_large, "shape {} is too large; its bytes exceed 2^62", human(shape));
  return empty ? 0 : bytes;
}

std::int64_t shape_bytes(const Shape& shape, int depth = 0) {
  if (shape.is_array()) return array_bytes(shape);
  fail_if(depth > kMaxShapeDepth, "shape is nested deeper than {}", kMaxShapeDepth);
  fail_if(shape.dtype == DType::kInvalid, "instruction has no shape");
  fail_if(shape.dtype == DType::kBuffer && shape.elements.size() != 1,
          "a buffer holds exactly one array");
  std::int64_t total = 0;
  for (const Shape& element : shape.elements) {
    total += shape_bytes(element, depth + 1);
    fail_if(total >= kMaxBytes, "tuple is too large; its bytes exceed 2^62");
  }
  return total;
}

// ---- one computation ---------------------------------------------------------------------------

// `found`: the number of parameter instructions.
void check_parameters(const Computation& computation, std::size_t found) {
  fail_if(found != computation.parameters.size(),
          "computation {} has {} parameter instructions but lists {}", computation.name, found,
          computation.parameters.size());
  for (std::size_t i = 0; i < computation.parameters.size(); ++i) {
    const InstrId id = computation.parameters[i];
    fail_if(id.index() >= computation.instructions.size() ||
                computation.at(id).opcode != Opcode::kParameter,
            "computation {} has no parameter({})", computation.name, i);
    const ParameterAttrs* attrs = computation.at(id).get<ParameterAttrs>();
    fail_if(attrs == nullptr || attrs->number != static_cast<std::int64_t>(i),
            "parameters of computation {} are not numbered 0..{}", computation.name,
            computation.parameters.size() - 1);
  }
}

// Only needed if some edge points forward in the text.
void check_acyclic(const Computation& computation) {
  const DepthFirst walk =
      depth_first(computation.instructions.size(), dependence_edges(computation));
  if (!walk.on_cycle) return;
  fail("data and control dependences form a cycle through {}",
       computation.instructions[*walk.on_cycle].name);
}

// Returns whether an operand or control predecessor comes later in the text.
bool check_references(const Module& module, ComputationId id, InstrId self, ModuleFacts& facts,
                      std::vector<GraphEdge>& calls) {
  const Computation& computation = module.at(id);
  const Instruction& instruction = computation.at(self);
  bool forward = false;
  for (const auto* edges : {&instruction.operands, &*instruction.control_predecessors}) {
    for (const InstrId other : *edges) {
      fail_if(other.index() >= computation.instructions.size(), "operand does not exist");
      forward = forward || other >= self;
    }
  }
  for (const ComputationId callee : instruction.called) {
    fail_if(callee.index() >= module.computations.size(), "called computation does not exist");
    calls.emplace_back(id.value, callee.value);
    const Opcode opcode = instruction.opcode;
    if (opcode == Opcode::kAsyncStart) facts.called_by_async[callee.index()] = true;
    if (opcode == Opcode::kFusion) facts.called_by_fusion[callee.index()] = true;
  }
  return forward;
}

// ---- call graph --------------------------------------------------------------------------------

// Requires that no computation calls itself and that calls nest at most kMaxCallDepth deep.
// `calls`: by caller.
void check_calls(const Module& module, const std::vector<GraphEdge>& calls) {
  const DepthFirst walk = depth_first(module.computations.size(), calls);
  if (walk.on_cycle) {
    fail("computation {} calls itself, directly or through others",
         module.computations[*walk.on_cycle].name);
  }
  std::vector<std::size_t> depth(module.computations.size(), 0);  // depth of calls below it
  for (const std::uint32_t id : walk.post_order) {
    for (auto call = std::ranges::lower_bound(calls, id, {}, &GraphEdge::first);
         call != calls.end() && call->first == id; ++call) {
      depth[id] = std::max(depth[id], depth[call->second] + 1);
    }
    if (depth[id] > kMaxCallDepth) {
      fail("calls are nested deeper than {} below computation {}", kMaxCallDepth,
           module.computations[id].name);
    }
  }
}

}  // namespace

void check_structure(const Module& module, ModuleFacts& facts, const At& at) {
  const std::size_t count = module.computations.size();
  fail_if(!module.entry.valid() || module.entry.index() >= count,
          "module has no entry computation");
  facts.called_by_async.assign(count, false);
  facts.called_by_fusion.assign(count, false);
  std::vector<GraphEdge> calls;
  for (std::size_t c = 0; c < count; ++c) {
    const Computation& computation = module.computations[c];
    at(ComputationId(c), InstrId());
    fail_if(
        !computation.root.valid() || computation.root.index() >= computation.instructions.size(),
        "computation {} has no root", computation.name);
    std::size_t parameters = 0;
    bool forward = false;
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      at(ComputationId(c), InstrId(i));
      forward = check_references(module, ComputationId(c), InstrId(i), facts, calls) || forward;
      shape_bytes(instruction.shape);
      if (instruction.opcode == Opcode::kParameter) ++parameters;
    }
    at(ComputationId(c), InstrId());
    check_parameters(computation, parameters);
    if (forward) check_acyclic(computation);
  }
  at(module.entry, InstrId());
  check_calls(module, calls);
  fail_if(facts.called_by_fusion[module.entry.index()],
          "Module entry computation cannot be a fusion computation");
}

void count_users(const Computation& computation, Users& users) {
  const std::size_t count = computation.instructions.size();
  users.count.assign(count, 0);
  users.first.assign(count, InstrId());
  users.last.assign(count, InstrId());
  for (std::size_t i = 0; i < count; ++i) {
    for (const InstrId operand : computation.instructions[i].operands) {
      if (users.last[operand.index()] == InstrId(i)) continue;
      if (users.count[operand.index()]++ == 0) users.first[operand.index()] = InstrId(i);
      users.last[operand.index()] = InstrId(i);
    }
  }
}

// Aliasing of results with operands and parameters, custom calls, and the entry's layouts.

namespace {

struct AliasedShapes {
  const Shape& output;
  const Shape& operand;
};

AliasedShapes aliased_shapes(const Site& site, const Alias& alias) {
  fail_if(alias.operand < 0 || static_cast<std::size_t>(alias.operand) >= site.count(),
          "Invalid aliasing operand index. Got {}, {} has {} operands", alias.operand,
          site.instruction.name, site.count());
  const Shape& whole = site.operand(static_cast<std::size_t>(alias.operand));
  const Shape* operand = subshape(whole, alias.operand_index);
  fail_if(operand == nullptr, "Invalid aliasing operand shape index. Got {} of {}",
          shown(alias.operand_index), human(whole));
  const Shape* output = subshape(site.instruction.shape, alias.output_index);
  fail_if(output == nullptr, "Invalid aliasing output shape index. Got {} of {}",
          shown(alias.output_index), human(site.instruction.shape));
  return {*output, *operand};
}

void check_alias(const Site& site, const Alias& alias, const Match& how) {
  const AliasedShapes shapes = aliased_shapes(site, alias);
  fail_if(!match(shapes.operand, shapes.output, how), "Different aliasing shapes: {} vs {}",
          ShapeText{shapes.operand}, ShapeText{shapes.output});
}

std::string_view target_of(const Site& site) {
  const CustomCallAttrs* attrs = site.instruction.get<CustomCallAttrs>();
  return attrs == nullptr ? std::string_view() : std::string_view(attrs->target);
}

// ---- the entry ---------------------------------------------------------------------------------

void check_entry_layout(const Module& module) {
  const Computation& entry = module.entry_computation();
  const Shape& root = entry.root_instruction().shape;
  fail_if(module.entry_result_layout && !match(root, *module.entry_result_layout),
          "Shape of the root instruction of entry computation ({}) should be compatible to one "
          "specified in module's entry computation layout ({})",
          human(root), human(*module.entry_result_layout));
  if (!module.entry_result_layout && module.entry_parameter_layouts.empty()) return;
  fail_if(module.entry_parameter_layouts.size() != entry.parameters.size(),
          "Number of parameters in entry computation layout ({}) must be same as number of "
          "parameters of entry computation ({})",
          module.entry_parameter_layouts.size(), entry.parameters.size());
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Shape& own = entry.at(entry.parameters[i]).shape;
    const Shape& declared = module.entry_parameter_layouts[i];
    fail_if(!match(own, declared),
            "Shape of the entry computation parameter {} is {} should be compatible to the one "
            "specified in module's entry computation layout {}",
            i, human(own), human(declared));
  }
}

const Shape& declared_parameter(const Module& module, std::size_t number) {
  if (number < module.entry_parameter_layouts.size()) return module.entry_parameter_layouts[number];
  const Computation& entry = module.entry_computation();
  return entry.at(entry.parameters[number]).shape;
}

void check_entry_alias(const Module& module, const Alias& alias) {
  const Computation& entry = module.entry_computation();
  fail_if(alias.operand < 0 || static_cast<std::size_t>(alias.operand) >= entry.parameters.size(),
          "input_output_alias names parameter {}; the entry has {}", alias.operand,
          entry.parameters.size());
  const auto number = static_cast<std::size_t>(alias.operand);
  const Shape& result =
      module.entry_result_layout ? *module.entry_result_layout : entry.root_instruction().shape;
  const Shape* output = subshape(result, alias.output_index);
  const Shape* input = subshape(declared_parameter(module, number), alias.operand_index);
  fail_if(output == nullptr, "input_output_alias names result {}, which {} does not have",
          shown(alias.output_index), human(result));
  fail_if(input == nullptr,
          "input_output_alias names part {} of parameter {}, which {} does not have",
          shown(alias.operand_index), number, human(declared_parameter(module, number)));
  if (!alias.must_alias) return;
  fail_if(!match(*output, *input),
          "Shape and memory space of the result at index {} ({}) must be the same as the shape and "
          "memory spaceof aliased parameter {} at index {} ({})",
          shown(alias.output_index), human(*output), number, shown(alias.operand_index),
          human(*input));
}

using ParameterPart = std::pair<std::int64_t, Dims>;

void check_aliased_once(const Module& module) {
  std::vector<ParameterPart> parts;
  for (const Alias& alias : module.input_output_alias) {
    parts.emplace_back(alias.operand, alias.operand_index);
  }
  std::sort(parts.begin(), parts.end());
  const auto twice = std::adjacent_find(parts.begin(), parts.end());
  if (twice != parts.end()) {
    fail("input_output_alias: parameter {} at index {} is aliased with several results",
         twice->first, shown(twice->second));
  }
}

}  // namespace

void check_custom_call(const Site& site) {
  const std::string_view target = target_of(site);
  const bool moves_buffer = target == "Pin" || target == "Unpin";
  const std::string* notes = site.instruction.find_raw("frontend_attributes");
  const bool skip_shapes =
      notes != nullptr &&
      notes->find("xla_skip_custom_call_alias_shape_check") != std::string::npos;
  for (const Alias& alias : *site.instruction.aliasing) {
    if (skip_shapes) {
      aliased_shapes(site, alias);
    } else {
      check_alias(site, alias, {.ignore_buffer = moves_buffer});
    }
  }
}

void check_fusion_aliasing(const Site& site) {
  for (const Alias& alias : *site.instruction.aliasing) check_alias(site, alias, {});
}

void check_entry(const Module& module) {
  check_entry_layout(module);
  for (const Alias& alias : module.input_output_alias) check_entry_alias(module, alias);
  check_aliased_once(module);
}

}  // namespace tilecast::ir::verification

namespace tilecast::ir {

void verify(const Module& module, const base::SourceText* text) {
  verification::Verifier(module, text).run();
}

}  // namespace tilecast::ir
