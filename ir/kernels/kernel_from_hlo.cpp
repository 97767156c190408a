#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "ir/array_elements.h"
#include "ir/backend_config.h"
#include "ir/collective_groups.h"
#include "ir/kernels/kernel_sources.h"
#include "ir/library_calls.h"
#include "ir/ops/index_map.h"
#include "ir/ops/op_row.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr int kMaxInlineDepth = 256;
constexpr std::size_t kMaxOps = std::size_t{1} << 20;
constexpr std::size_t kKeptLiteralText = 64;

// The part of a start op's shape that is its result; the rest are operands and contexts.
const Shape& result_part(const Instruction& instruction) {
  const auto element = static_cast<std::size_t>(op_row(instruction.opcode).tuple.result);
  const std::vector<Shape>& elements = instruction.shape.elements;
  return element < elements.size() ? elements[element] : instruction.shape;
}

// Whether the instruction is the work of the computation that it calls: also a custom call that
// runs it on a SparseCore.
bool inlines(const Module& module, const Instruction& instruction) {
  if (instruction.called.empty()) return false;
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::kCustomCall) {
    return module.at(instruction.called[0]).execution_thread == "sparsecore";
  }
  return opcode == Opcode::kFusion || opcode == Opcode::kCall || opcode == Opcode::kAsyncStart;
}

// Whether a fusion inside another is a copy in the place of its operand: elements of tiles of 16
// rows seen as tiles of 8, which moves nothing.
bool changes_view(const Module& module, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kFusion || instruction.aliasing->empty()) return false;
  const Computation& fused = module.at(instruction.called[0]);
  return fused.instructions.size() == 2 && fused.root_instruction().opcode == Opcode::kCopy;
}

// Normalises a product: pairs of contracting dimensions are sorted by the left operand's dimension.
OpAttrs in_order(const OpAttrs& attrs) {
  OpAttrs ordered = attrs;
  DotDims& dims = ordered.edit<DotAttrs>().dims;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
    pairs.emplace_back(dims.lhs_contracting[i], dims.rhs_contracting[i]);
  }
  std::ranges::sort(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::tie(dims.lhs_contracting[i], dims.rhs_contracting[i]) = pairs[i];
  }
  return ordered;
}

// Drops large literals, of which a kernel needs only the shape.
OpAttrs kept_attrs(const Instruction& instruction) {
  if (const auto* dot = instruction.get<DotAttrs>()) {
    const DotDims& dims = dot->dims;
    const bool paired = dims.lhs_contracting.size() == dims.rhs_contracting.size();
    if (paired && !std::ranges::is_sorted(dims.lhs_contracting)) return in_order(instruction.attrs);
  }
  if (const auto transfer = slice_transfer(instruction)) {
    OpAttrs attrs = instruction.attrs;
    CollectiveAttrs& collective = attrs.edit<CollectiveAttrs>();
    collective.slices = transfer->slices;
    collective.over_slices = transfer->pattern;
    return attrs;
  }
  const auto* constant = instruction.get<ConstantAttrs>();
  if (constant == nullptr || constant->literal.text.size() <= kKeptLiteralText) {
    return instruction.attrs;
  }
  ConstantAttrs kept;
  kept.literal.elided = true;
  kept.literal.is_integer = constant->literal.is_integer;
  kept.literal.integers = constant->literal.integers;
  return kept;
}

// The instruction that does a kernel's work: the one wrapped by an async-start (through a custom
// call to a SparseCore), or itself.
std::pair<ComputationId, InstrId> working_instruction(const Module& module, ComputationId caller,
                                                      InstrId id) {
  std::pair<ComputationId, InstrId> at{caller, id};
  while (true) {
    const Instruction& instruction = module.at(at.first).at(at.second);
    const bool wraps =
        instruction.opcode == Opcode::kAsyncStart || instruction.opcode == Opcode::kCustomCall;
    if (!wraps || !inlines(module, instruction)) return at;
    const Computation& wrapped = module.at(instruction.called[0]);
    std::optional<InstrId> found;
    for (std::size_t i = 0; i < wrapped.instructions.size(); ++i) {
      if (op_class(wrapped.instructions[i].opcode) == OpClass::kFree) continue;
      if (found) return {caller, id};
      found = InstrId(i);
    }
    if (!found) return {caller, id};
    at = {instruction.called[0], *found};
  }
}

// Builds the interior graph of one scheduled instruction: called fusions are inlined, tuples are
// resolved to their array leaves.
class KernelInliner {
 public:
  KernelInliner(const Module& module, ComputationId computation, const Instruction& instruction,
                WorkCounter& counter);
  // `worker` is the instruction itself, or the one wrapped by an async-start.
  [[nodiscard]] Kernel build(const Computation& where, const Instruction& worker, WorkCounts work);
  void set_gpu_code(std::optional<GpuCode> code) { builder_.set_gpu_code(std::move(code)); }
  // The sources of the parameters; call after build().
  [[nodiscard]] std::vector<ArraySource> take_sources() { return std::move(sources_); }

 private:
  // One leaf of a value: an op of the kernel, an array defined outside and not used yet, or nothing
  // (token, opaque).
  struct Leaf {
    enum class Kind : std::uint8_t { kNone, kOp, kOutside } kind = Kind::kNone;
    std::uint32_t index = 0;
  };
  using Value = boost::container::small_vector<Leaf, 1>;  // all leaves, depth first
  struct Outside {
    InstrId id;
    const Instruction* instruction;
    const Shape* shape;
    std::size_t leaf;
    OpId op;  // once used
  };

  [[nodiscard]] std::size_t expected_ops() const;
  [[nodiscard]] Value outside_value(InstrId id);
  [[nodiscard]] OpId use(const Leaf& leaf);
  [[nodiscard]] Value inline_computation(ComputationId id, std::vector<Value> arguments, int depth);
  [[nodiscard]] Value inline_instruction(const Computation& computation,
                                         const Instruction& instruction,
                                         const std::vector<Value>& values,
                                         const std::vector<Value>& arguments, int depth);
  [[nodiscard]] Value add_op(const Instruction& instruction, const Shape& shape,
                             const std::vector<const Value*>& operands);
  [[nodiscard]] std::vector<OpId> outputs(const Value& result, const Shape& shape);
  void note_in_place(const std::vector<OpId>& outputs, const std::vector<Value>& operands);
  [[nodiscard]] std::optional<std::size_t> updated_parameter(OpId output) const;
  [[nodiscard]] std::optional<std::size_t> parameter_at(OpId id) const;
  void read_config(const Computation& where, const Instruction& instruction);

  const Module& module_;
  const Computation& caller_;
  const Instruction& instruction_;
  WorkCounter& counter_;
  KernelBuilder builder_;
  std::vector<Outside> outside_;
  std::vector<ArraySource> sources_;
  std::map<InstrId, std::size_t> first_outside_;  // operand -> index of its first entry in outside_
};

KernelInliner::KernelInliner(const Module& module, ComputationId computation,
                             const Instruction& instruction, WorkCounter& counter)
    : module_(module),
      caller_(module.at(computation)),
      instruction_(instruction),
      counter_(counter),
      builder_(instruction.name, instruction.opcode) {}

KernelInliner::Value KernelInliner::outside_value(InstrId id) {
  const Instruction& producer = caller_.at(id);
  const auto [entry, is_new] = first_outside_.try_emplace(id, outside_.size());
  Value value;
  std::size_t leaf = 0, next = entry->second;
  for_each_leaf(producer.shape, [&](const Shape& shape) {
    if (shape.is_array()) {
      if (is_new) outside_.push_back({id, &producer, &shape, leaf, {}});
      value.push_back({Leaf::Kind::kOutside, static_cast<std::uint32_t>(next++)});
    } else {
      value.push_back({});
    }
    ++leaf;
  });
  return value;
}

OpId KernelInliner::use(const Leaf& leaf) {
  if (leaf.kind == Leaf::Kind::kOp) return OpId(std::size_t{leaf.index});
  if (leaf.kind == Leaf::Kind::kNone) return {};
  Outside& source = outside_[leaf.index];
  if (source.op.valid()) return source.op;
  const Instruction& producer = *source.instruction;
  if (producer.opcode == Opcode::kConstant && source.shape->is_scalar()) {
    Op op;
    op.opcode = producer.opcode;
    op.shape = *source.shape;
    op.attrs = kept_attrs(producer);
    source.op = builder_.add(std::move(op), producer.name);
  } else {
    std::string name = producer.name;
    if (producer.shape.is_tuple()) name += "." + std::to_string(source.leaf);
    source.op = builder_.parameter(*source.shape, std::move(name));
    sources_.push_back({source.id, source.leaf});
  }
  return source.op;
}

KernelInliner::Value KernelInliner::add_op(const Instruction& instruction, const Shape& shape,
                                           const std::vector<const Value*>& operands) {
  if (builder_.size() >= kMaxOps) {
    throw Error("kernel " + instruction_.name +
                ": more than 2^20 ops once its fusions are inlined");
  }
  Op op;
  op.opcode = instruction.opcode;
  op.shape = shape;
  op.dimensions = instruction.dimensions;
  op.attrs = kept_attrs(instruction);
  for (const Value* operand : operands) {
    for (const Leaf& leaf : *operand) {
      if (leaf.kind != Leaf::Kind::kNone) op.operands.push_back(use(leaf));
    }
  }
  for (const ComputationId called : instruction.called) {
    const WorkCounts& applied = counter_.total(called);
    op.applied_flops += static_cast<double>(applied.flops);
    op.applied_transcendentals += static_cast<double>(applied.transcendentals);
  }
  if (instruction.called.size() == 1)
    op.applied = applied_opcode(module_.at(instruction.called[0]));
  const OpId id = builder_.add(std::move(op), instruction.name);
  if (shape.is_array()) return {{Leaf::Kind::kOp, id.value}};

  Value value;
  for_each_leaf(shape, [&](const Shape& leaf) {
    if (!leaf.is_array()) {
      value.push_back({});
      return;
    }
    Op pick;
    pick.opcode = Opcode::kGetTupleElement;
    pick.shape = leaf;
    pick.operands = {id};
    pick.attrs = IndexAttrs{static_cast<std::int64_t>(value.size())};
    std::string name = instruction.name + "." + std::to_string(value.size());
    value.push_back({Leaf::Kind::kOp, builder_.add(std::move(pick), std::move(name)).value});
  });
  return value;
}

KernelInliner::Value KernelInliner::inline_instruction(const Computation& computation,
                                                       const Instruction& instruction,
                                                       const std::vector<Value>& values,
                                                       const std::vector<Value>& arguments,
                                                       int depth) {
  if (instruction.opcode == Opcode::kParameter) {
    const auto number = static_cast<std::size_t>(instruction.as<ParameterAttrs>().number);
    if (number < arguments.size()) return arguments[number];
    throw Error("computation " + computation.name + ": parameter " + std::to_string(number) +
                " has no operand at its caller");
  }
  if (instruction.opcode == Opcode::kGetTupleElement) {
    const Shape& tuple = computation.at(instruction.operands[0]).shape;
    const Value& whole = values[instruction.operands[0].index()];
    const auto element = static_cast<std::size_t>(instruction.as<IndexAttrs>().index);
    const std::size_t first = leaves_before(tuple, std::min(element, tuple.elements.size()));
    const std::size_t end = first + leaf_count(instruction.shape);
    if (end > whole.size()) {
      throw Error("instruction " + instruction.name + ": its index is beyond its tuple");
    }
    return Value(whole.begin() + static_cast<std::ptrdiff_t>(first),
                 whole.begin() + static_cast<std::ptrdiff_t>(end));
  }
  if (instruction.opcode == Opcode::kTuple) {
    Value all;
    for (const InstrId id : instruction.operands) {
      all.insert(all.end(), values[id.index()].begin(), values[id.index()].end());
    }
    return all;
  }
  if (changes_view(module_, instruction)) {
    Instruction view = instruction;
    view.opcode = Opcode::kBitcast;
    view.called.clear();
    return add_op(view, view.shape, {&values[instruction.operands[0].index()]});
  }
  if (inlines(module_, instruction)) {
    std::vector<Value> inner;
    for (const InstrId id : instruction.operands) inner.push_back(values[id.index()]);
    return inline_computation(instruction.called[0], std::move(inner), depth + 1);
  }
  std::vector<const Value*> operands;
  for (const InstrId id : instruction.operands) operands.push_back(&values[id.index()]);
  return add_op(instruction, instruction.shape, operands);
}

KernelInliner::Value KernelInliner::inline_computation(ComputationId id,
                                                       std::vector<Value> arguments, int depth) {
  const Computation& computation = module_.at(id);
  if (depth > kMaxInlineDepth) {
    throw Error("kernel " + instruction_.name + ": fusions nest deeper than 256");
  }
  std::vector<Value> values(computation.instructions.size());
  for (const InstrId next : schedule_order(computation)) {
    values[next.index()] =
        inline_instruction(computation, computation.at(next), values, arguments, depth);
  }
  return values[computation.root.index()];
}

std::vector<OpId> KernelInliner::outputs(const Value& result, const Shape& shape) {
  std::vector<OpId> out;
  std::size_t leaf = 0;
  for_each_leaf(shape, [&](const Shape& outside) {
    const std::size_t position = leaf++;
    if (!outside.is_array() || position >= result.size()) return;
    OpId id = use(result[position]);
    if (!id.valid()) return;
    if (has(builder_.op(id).opcode, Trait::kGiven)) {
      Op copy;  // the result needs a buffer of its own
      copy.opcode = Opcode::kCopy;
      copy.shape = outside;
      copy.operands = {id};
      id = builder_.add(std::move(copy), builder_.name_of(id) + ".copy");
    } else if (outside.has_layout() && same_dims(builder_.op(id).shape, outside)) {
      builder_.op(id).shape.layout = outside.layout;
    }
    out.push_back(id);
  });
  return out;
}

std::size_t KernelInliner::expected_ops() const {
  std::size_t ops = outside_.size() + 1;
  if (inlines(module_, instruction_)) {
    const Computation& called = module_.at(instruction_.called[0]);
    ops +=
        called.instructions.size() - std::min(called.instructions.size(), called.parameters.size());
  }
  return ops;
}

Kernel KernelInliner::build(const Computation& where, const Instruction& worker, WorkCounts work) {
  std::vector<Value> operands;
  for (const InstrId id : instruction_.operands) operands.push_back(outside_value(id));
  builder_.reserve(expected_ops());
  const Shape& shape = result_part(instruction_);
  Value result;
  if (inlines(module_, instruction_)) {
    result = inline_computation(instruction_.called[0], operands, 0);
  } else {
    std::vector<const Value*> pointers;
    for (const Value& value : operands) pointers.push_back(&value);
    result = add_op(instruction_, shape, pointers);
  }
  std::vector<OpId> out = outputs(result, shape);
  note_in_place(out, operands);
  builder_.set_op_name(std::string(instruction_.op_name()));
  builder_.set_work(std::move(work));
  builder_.set_opcode(worker.opcode);
  builder_.set_group_size(group_size(module_, worker));
  const std::vector<ComputationId>& called = instruction_.called;
  builder_.set_on_host(!called.empty() && module_.at(called[0]).execution_thread == "host");
  builder_.set_device_groups(device_groups(module_, worker));
  read_config(where, worker);
  return builder_.build(std::move(out));
}

void KernelInliner::read_config(const Computation& where, const Instruction& instruction) {
  builder_.set_window_bytes(module_.window_bytes);
  BackendConfig config;
  if (!instruction.backend_config->empty()) {
    config = read_backend_config(*instruction.backend_config);
  }
  if (config.tile) builder_.set_compiler_tile(std::move(*config.tile));
  if (instruction.opcode == Opcode::kCustomCall) {
    std::vector<Shape> operands;
    for (const InstrId id : instruction.operands) operands.push_back(where.at(id).shape);
    config.cost = library_cost(instruction, operands, config);
  }
  if (config.cost) builder_.set_custom_call_cost(*std::move(config.cost));
}

// Outputs that share a buffer with a parameter.

std::optional<std::size_t> KernelInliner::parameter_at(OpId id) const {
  const auto parameters = builder_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] == id) return i;
  }
  return std::nullopt;
}

// Follows bitcasts from an output to an op that updates an operand in place, then from that operand
// to a parameter.
std::optional<std::size_t> KernelInliner::updated_parameter(OpId output) const {
  const auto behind_bitcasts = [&](OpId id) {
    while (builder_.op(id).opcode == Opcode::kBitcast) id = builder_.op(id).operands[0];
    return id;
  };
  OpId id = behind_bitcasts(output);
  std::size_t result = 0;
  if (builder_.op(id).opcode == Opcode::kGetTupleElement) {
    result = static_cast<std::size_t>(builder_.op(id).as<IndexAttrs>().index);
    id = builder_.op(id).operands[0];
  }
  const Op& op = builder_.op(id);
  if (!replacement_of(op.opcode, op.operands.size(), result)) return std::nullopt;
  return parameter_at(behind_bitcasts(op.operands[result]));
}

void KernelInliner::note_in_place(const std::vector<OpId>& outputs,
                                  const std::vector<Value>& operands) {
  std::vector<bool> shared(outputs.size(), false);
  for (const Alias& alias : *instruction_.aliasing) {
    if (alias.operand < 0 || alias.operand >= std::ssize(operands)) continue;
    const auto operand = static_cast<std::size_t>(alias.operand);
    const Shape& operand_shape = caller_.at(instruction_.operands[operand]).shape;
    const auto output = leaf_at(instruction_.shape, alias.output_index);
    const auto leaf = leaf_at(operand_shape, alias.operand_index);
    if (!output || *output >= outputs.size() || shared[*output]) continue;
    if (!leaf || *leaf >= operands[operand].size()) continue;
    const Leaf& source = operands[operand][*leaf];
    if (source.kind != Leaf::Kind::kOutside || !outside_[source.index].op.valid()) continue;
    if (const auto parameter = parameter_at(outside_[source.index].op)) {
      builder_.add_in_place(*output, *parameter);
      shared[*output] = true;
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (shared[i]) continue;
    if (const auto parameter = updated_parameter(outputs[i])) builder_.add_in_place(i, *parameter);
  }
}

}  // namespace

WiredKernel make_wired_kernel(const Module& module, ComputationId computation, InstrId instruction,
                              WorkCounter& counter) {
  const auto [where, what] = working_instruction(module, computation, instruction);
  const Instruction& start = module.at(computation).at(instruction);
  KernelInliner inliner(module, computation, start, counter);
  Kernel kernel =
      inliner.build(module.at(where), module.at(where).at(what), counter.of(where, what));
  return {std::move(kernel), inliner.take_sources()};
}

Kernel make_kernel(const Module& module, ComputationId computation, InstrId instruction,
                   WorkCounter& counter, bool gpu_code) {
  const auto [where, what] = working_instruction(module, computation, instruction);
  const Instruction& worker = module.at(where).at(what);
  KernelInliner inliner(module, computation, module.at(computation).at(instruction), counter);
  auto code = read_gpu_code(worker);
  if (gpu_code || (code && code->emitter != GpuCode::Emitter::kLoop)) {
    inliner.set_gpu_code(std::move(code));
  }
  return inliner.build(module.at(where), worker, counter.of(where, what));
}

}  // namespace tilecast::ir
