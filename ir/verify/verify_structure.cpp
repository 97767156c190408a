// The skeleton of a module: ids, parameters, sizes, and graphs without cycles.
#include <algorithm>

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

constexpr std::size_t kMaxCallDepth = 256;
constexpr int kMaxRank = 32;
constexpr int kMaxShapeDepth = 128;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

using At = std::function<void(ComputationId, InstrId)>;
using Callees = std::vector<ComputationId>;

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

std::int64_t array_bytes(const Shape& shape, bool allow_unbounded) {
  fail_if(shape.rank() > kMaxRank, "rank {} is above the limit of {}", shape.rank(), kMaxRank);
  if (shape.layout) check_layout_form(shape);
  std::int64_t bytes = std::max(1, (bits(shape.dtype) + 7) / 8);
  bool empty = false;
  bool too_large = false;
  for (const std::int64_t dim : shape.dims) {
    if (dim == kUnboundedSize) {
      fail_if(!allow_unbounded, "Unbounded dynamism is disabled for instruction");
      continue;
    }
    fail_if(dim < 0, "dimension size {} is negative", dim);
    if (dim == 0) empty = true;
    too_large = too_large || __builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes);
    too_large = too_large || bytes >= kMaxBytes;
  }
  fail_if(too_large, "shape {} is too large; its bytes exceed 2^62", human(shape));
  return empty ? 0 : bytes;
}

std::int64_t shape_bytes(const Shape& shape, bool allow_unbounded, ModuleFacts& facts,
                         int depth = 0) {
  if (shape.is_array()) return array_bytes(shape, allow_unbounded);
  fail_if(depth > kMaxShapeDepth, "shape is nested deeper than {}", kMaxShapeDepth);
  fail_if(shape.dtype == DType::kInvalid, "instruction has no shape");
  if (shape.dtype == DType::kBuffer) {
    facts.has_buffers = true;
    fail_if(shape.elements.size() != 1, "a buffer holds exactly one array");
  }
  std::int64_t total = 0;
  for (const Shape& element : shape.elements) {
    total += shape_bytes(element, allow_unbounded, facts, depth + 1);
    fail_if(total >= kMaxBytes, "tuple is too large; its bytes exceed 2^62");
  }
  return total;
}

// ---- one computation ---------------------------------------------------------------------------

// `found` is how many parameter instructions there are.
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

// Kahn's algorithm; only needed when some edge points forward in the text.
void check_acyclic(const Computation& computation) {
  const std::size_t count = computation.instructions.size();
  std::vector<std::vector<std::uint32_t>> next(count);
  std::vector<std::uint32_t> waiting(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& instruction = computation.instructions[i];
    for (const auto* edges : {&instruction.operands, &instruction.control_predecessors}) {
      for (const InstrId from : *edges) {
        next[from.index()].push_back(static_cast<std::uint32_t>(i));
        ++waiting[i];
      }
    }
  }
  std::vector<std::uint32_t> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push_back(static_cast<std::uint32_t>(i));
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t at = ready.back();
    ready.pop_back();
    ++done;
    for (const std::uint32_t user : next[at]) {
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  if (done == count) return;
  const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](auto n) { return n > 0; });
  fail("data and control dependences form a cycle through {}",
       computation.instructions[static_cast<std::size_t>(stuck - waiting.begin())].name);
}

void note_callee(ModuleFacts& facts, const Instruction& instruction, ComputationId callee) {
  switch (instruction.opcode) {
    case Opcode::kAsyncStart:
      facts.called_by_async[callee.index()] = true;
      return;
    case Opcode::kFusion:
      facts.called_by_fusion[callee.index()] = true;
      return;
    case Opcode::kWhile:
      facts.called_by_while[callee.index()] = true;
      return;
    default:
      return;
  }
}

// Returns whether an operand or control predecessor stands later in the text.
bool check_references(const Module& module, const Computation& computation, InstrId self,
                      ModuleFacts& facts) {
  const Instruction& instruction = computation.at(self);
  bool forward = false;
  for (const auto* edges : {&instruction.operands, &instruction.control_predecessors}) {
    for (const InstrId id : *edges) {
      fail_if(id.index() >= computation.instructions.size(), "operand does not exist");
      forward = forward || id >= self;
    }
  }
  for (const ComputationId callee : instruction.called) {
    fail_if(callee.index() >= module.computations.size(), "called computation does not exist");
    note_callee(facts, instruction, callee);
  }
  if (instruction.opcode == Opcode::kSend || instruction.opcode == Opcode::kRecv) {
    facts.has_send_recv = true;
  }
  return forward;
}

// ---- call graph --------------------------------------------------------------------------------

// Depth of each computation below its deepest callee, callees first; iterative, so that a deep
// chain cannot exhaust the stack.
class CallDepth {
 public:
  // `calls` lists the callees of each computation, perhaps several times.
  CallDepth(const Module& module, const std::vector<Callees>& calls)
      : module_(module), calls_(calls), depth_(calls.size(), 0), state_(calls.size(), kNew) {}

  void check() {
    for (std::size_t i = 0; i < depth_.size(); ++i) {
      if (state_[i] == kNew) visit(i);
    }
  }

 private:
  enum State : std::uint8_t { kNew, kOpen, kDone };

  void visit(std::size_t start) {
    struct Frame {
      std::size_t computation;
      std::size_t next = 0;
    };
    std::vector<Frame> stack{{start}};
    state_[start] = kOpen;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Callees& callees = calls_[frame.computation];
      if (frame.next == callees.size()) {
        close(frame.computation);
        stack.pop_back();
        continue;
      }
      const std::size_t callee = callees[frame.next++].index();
      if (state_[callee] == kOpen) {
        fail("computation {} calls itself, directly or through others",
             module_.computations[callee].name);
      }
      if (state_[callee] == kNew) {
        state_[callee] = kOpen;
        stack.push_back({callee});
      }
    }
  }

  void close(std::size_t computation) {
    for (const ComputationId callee : calls_[computation]) {
      depth_[computation] = std::max(depth_[computation], depth_[callee.index()] + 1);
    }
    if (depth_[computation] > kMaxCallDepth) {
      fail("calls are nested deeper than {} below computation {}", kMaxCallDepth,
           module_.computations[computation].name);
    }
    state_[computation] = kDone;
  }

  const Module& module_;
  const std::vector<Callees>& calls_;
  std::vector<std::size_t> depth_;
  std::vector<State> state_;
};

}  // namespace

void check_structure(const Module& module, const VerifyOptions& options, ModuleFacts& facts,
                     const At& at) {
  const std::size_t count = module.computations.size();
  fail_if(!module.entry.valid() || module.entry.index() >= count,
          "module has no entry computation");
  facts.called_by_async.assign(count, false);
  facts.called_by_fusion.assign(count, false);
  facts.called_by_while.assign(count, false);
  std::vector<Callees> calls(count);
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
      forward = check_references(module, computation, InstrId(i), facts) || forward;
      shape_bytes(instruction.shape, options.allow_unbounded_dynamism, facts);
      if (instruction.opcode == Opcode::kParameter) ++parameters;
      calls[c].insert(calls[c].end(), instruction.called.begin(), instruction.called.end());
    }
    at(ComputationId(c), InstrId());
    check_parameters(computation, parameters);
    if (forward) check_acyclic(computation);
  }
  at(module.entry, InstrId());
  CallDepth(module, calls).check();
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
