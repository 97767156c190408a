// Checks the structure of a module: ids, parameters, sizes and acyclic graphs.
#include <algorithm>

#include "ir/schedule_order.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

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

}  // namespace tilecast::ir::verification
