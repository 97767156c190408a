// Buffers b(...): values pinned to memory that custom calls update in place. A buffer enters a
// custom call and leaves it through an alias, and at most one writer follows each of its values.
#include <algorithm>

#include "ir/schedule_order.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

constexpr std::size_t kMostSteps = std::size_t{1} << 20;  // of one search for writers

bool is_buffer(const Shape& shape) {
  return shape.dtype == DType::kBuffer;
}

// Calls `visit(index)` for every buffer in a shape.
template <class Visit>
void for_each_buffer(const Shape& shape, Dims& index, Visit&& visit) {
  if (is_buffer(shape)) visit(static_cast<const Dims&>(index));
  if (!shape.is_tuple()) return;
  for (std::size_t i = 0; i < shape.elements.size(); ++i) {
    index.push_back(static_cast<std::int64_t>(i));
    for_each_buffer(shape.elements[i], index, visit);
    index.pop_back();
  }
}

class BufferRules {
 public:
  BufferRules(const Module& module, const ModuleFacts& facts, const VerifyOptions& options,
              ComputationId id)
      : computation_(module.at(id)),
        is_entry_(id == module.entry),
        is_async_(facts.called_by_async[id.index()]),
        is_loop_(facts.called_by_while[id.index()]),
        pin_match_{.layout = options.layout_sensitive},
        users_(user_lists(computation_)) {}

  void check(InstrId id) const {
    const Instruction& instruction = computation_.at(id);
    if (is_async_) {
      // The rest of a wrapped computation is judged where it is called from.
      if (id == computation_.root && instruction.opcode == Opcode::kCustomCall) {
        check_custom_call(id, instruction);
      }
      return;
    }
    using enum Opcode;
    const Opcode opcode = instruction.opcode;
    if (opcode == kCustomCall) return check_custom_call(id, instruction);
    if (opcode == kDynamicUpdateSlice) return check_update(id, instruction);
    if (is_one_of(opcode, {kGetTupleElement, kTuple})) return;
    const bool on_stream =
        opcode == kCall && frontend_attribute(instruction, "_xla_stream_annotation");
    if (on_stream) return;
    const bool carries_buffers = is_one_of(opcode, {kWhile, kParameter});
    if (!carries_buffers || (opcode == kParameter && is_entry_)) check_no_buffers(instruction);
    if (carries_buffers) check_unique_writers(id);
  }

 private:
  struct Value {
    InstrId id;
    Dims index;
  };

  void refuse_buffers(const Shape& shape, const Instruction& instruction) const {
    fail_if(holds_buffer(shape), "Seen buffers while buffers aren't allowed in this context: {}",
            instruction.name);
  }

  void check_no_buffers(const Instruction& instruction) const {
    refuse_buffers(instruction.shape, instruction);
    for (const InstrId operand : instruction.operands) {
      refuse_buffers(computation_.at(operand).shape, instruction);
    }
  }

  // Loops, conditionals and calls are taken to write what they get.
  static bool writes(Opcode opcode) {
    using enum Opcode;
    return is_async_chain(opcode) || is_one_of(opcode, {kCall, kCustomCall, kFusion, kWhile,
                                                        kConditional, kDynamicUpdateSlice});
  }

  // Follows `value` into one user: a writer counts, an alias of it goes on the worklist.
  std::size_t follow(const Value& value, InstrId user_id, std::vector<Value>& work) const {
    const Instruction& user = computation_.at(user_id);
    if (writes(user.opcode)) return 1;
    if (user.opcode == Opcode::kGetTupleElement && !value.index.empty()) {
      const IndexAttrs* attrs = user.get<IndexAttrs>();
      if (attrs != nullptr && attrs->index == value.index[0]) {
        work.push_back({user_id, Dims(value.index.begin() + 1, value.index.end())});
      }
    } else if (user.opcode == Opcode::kTuple) {
      if (user_id == computation_.root) return is_loop_ ? 1 : 0;
      const auto at = std::find(user.operands.begin(), user.operands.end(), value.id);
      Dims index{at - user.operands.begin()};
      index.insert(index.end(), value.index.begin(), value.index.end());
      work.push_back({user_id, std::move(index)});
    }
    return 0;
  }

  void check_unique_writer(InstrId id, const Dims& index) const {
    std::vector<Value> work{{id, index}};
    std::size_t writers = 0;
    for (std::size_t steps = 0; !work.empty(); ++steps) {
      fail_if(steps > kMostSteps, "uses of buffer {} are too entangled to follow", shown(index));
      const Value value = std::move(work.back());
      work.pop_back();
      for (const InstrId user : users_[value.id.index()]) writers += follow(value, user, work);
      fail_if(writers > 1, "an HLO buffer value has more than one writers (or unpins): '{}' '{}'",
              computation_.at(id).name, shown(index));
    }
  }

  void check_unique_writers(InstrId id) const {
    Dims index;
    for_each_buffer(computation_.at(id).shape, index,
                    [&](const Dims& at) { check_unique_writer(id, at); });
  }

  void check_update(InstrId id, const Instruction& update) const {
    const bool in_buffer = !update.operands.empty() && is_buffer(operand(update, 0));
    if (!in_buffer) return check_no_buffers(update);
    check_unique_writers(id);
    for (std::size_t i = 1; i < update.operands.size(); ++i) {
      refuse_buffers(operand(update, i), update);
    }
    fail_if(!is_buffer(update.shape),
            "DynamicUpdateSlice result must be a buffer if operand 0 is a buffer");
  }

  [[nodiscard]] const Shape& operand(const Instruction& instruction, std::size_t index) const {
    return computation_.at(instruction.operands[index]).shape;
  }

  // ---- custom calls ----

  void check_custom_call(InstrId id, const Instruction& call) const {
    const CustomCallAttrs* attrs = call.get<CustomCallAttrs>();
    const std::string_view target =
        attrs == nullptr ? std::string_view() : std::string_view(attrs->target);
    if (target == "Pin") return check_pin(id, call);
    if (target == "Unpin") return check_unpin(call);
    if (target == "CreateBuffer") return check_create(id, call);
    check_operands(call);
    check_results(call);
    check_unique_writers(id);
  }

  static void check_one_alias(const Instruction& call, std::string_view target) {
    fail_if(call.aliasing->size() != 1,
            "custom-call to {} must have one output-to-operand aliasing", target);
  }

  void check_pin(InstrId id, const Instruction& pin) const {
    fail_if(pin.operands.size() != 1 || !operand(pin, 0).is_array(),
            "custom-call to Pin must have one array non-buffer operand");
    fail_if(!is_buffer(pin.shape), "custom-call to Pin must have one buffer result");
    fail_if(!match(operand(pin, 0), pin.shape.elements[0], pin_match_),
            "custom-call to Pin must have the same shape as the operand");
    check_one_alias(pin, "Pin");
    check_unique_writer(id, {});
  }

  void check_unpin(const Instruction& unpin) const {
    fail_if(unpin.operands.size() != 1 || !is_buffer(operand(unpin, 0)),
            "custom-call to Unpin must have one buffer operand");
    fail_if(!unpin.shape.is_array(), "custom-call to Unpin must have one array non-buffer result");
    fail_if(!match(operand(unpin, 0).elements[0], unpin.shape, pin_match_),
            "custom-call to Unpin must have the same shape as the operand");
    check_one_alias(unpin, "Unpin");
  }

  void check_create(InstrId id, const Instruction& create) const {
    fail_if(!create.operands.empty(), "custom-call to CreateBuffer can't have an operand");
    fail_if(!is_buffer(create.shape), "custom-call to CreateBuffer must have one buffer result");
    check_unique_writer(id, {});
  }

  void check_operands(const Instruction& call) const {
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      Dims index;
      for_each_buffer(operand(call, i), index, [&](const Dims& at) {
        const auto times =
            std::count_if(call.aliasing->begin(), call.aliasing->end(), [&](const Alias& alias) {
              return alias.operand == static_cast<std::int64_t>(i) && alias.operand_index == at;
            });
        fail_if(times == 0,
                "buffer is used in operands but not in results: operand {} ShapeIndex {}", i,
                shown(at));
        fail_if(times > 1, "buffer is used in results multiple times: operand {} ShapeIndex {}", i,
                shown(at));
      });
    }
  }

  static void check_results(const Instruction& call) {
    Dims index;
    for_each_buffer(call.shape, index, [&](const Dims& at) {
      const auto times =
          std::count_if(call.aliasing->begin(), call.aliasing->end(),
                        [&](const Alias& alias) { return alias.output_index == at; });
      fail_if(times == 0, "buffer is used in results but not in operands: {}", shown(at));
      fail_if(times > 1, "buffer is used in operands multiple times: {}", shown(at));
    });
  }

  const Computation& computation_;
  bool is_entry_;
  bool is_async_;
  bool is_loop_;
  Match pin_match_;
  UserLists users_;
};

}  // namespace

void check_buffers(const Module& module, const ModuleFacts& facts, const VerifyOptions& options,
                   const std::function<void(ComputationId, InstrId)>& at) {
  if (!facts.has_buffers) return;
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const ComputationId id(c);
    const BufferRules rules(module, facts, options, id);
    for (std::size_t i = 0; i < module.computations[c].instructions.size(); ++i) {
      at(id, InstrId(i));
      rules.check(InstrId(i));
    }
  }
}

}  // namespace tilecast::ir::verification
