// Trip counts of while loops, from the first source that gives one: known_trip_count in the
// backend_config; evaluation of the loop's scalar code, up to 128 iterations (like XLA's
// ComputeWhileLoopTripCount); a closed form for counters that change by a constant.
//
//   LoopEvaluator loops(module);
//   const ScalarValue state = loops.evaluate(caller, while_op.operands[0], {});
//   const LoopRun run = loops.run(while_op, state);   // run.trips
//
// Integers wrap as their types do. Evaluation is limited by a budget per module; a count that would
// exceed it is unknown. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

// A scalar integer or pred, if it follows from constants, or a tuple of such values.
struct ScalarValue {
  DType type = DType::kInvalid;  // kInvalid: not known, or a tuple
  std::int64_t value = 0;
  std::int32_t element = -1;  // >= 0: symbolic, `value` plus that element of a loop's state
  const CompareAttrs* compare = nullptr;  // undecided comparison of elements[0] and elements[1]
  std::vector<ScalarValue> elements;

  [[nodiscard]] bool is_known() const {
    return type != DType::kInvalid && element < 0 && compare == nullptr;
  }
};
using ScalarValues = std::vector<ScalarValue>;

// The parts in which `a` and `b` agree.
[[nodiscard]] ScalarValue common(const ScalarValue& a, const ScalarValue& b);

struct LoopRun {
  std::optional<std::int64_t> trips;
  bool is_stepwise = false;  // `states` holds one state per iteration, `end` the final one
  // If not stepwise: a single state, with the values that all iterations share.
  ScalarValues states;
  ScalarValue end;
};

class LoopEvaluator {
 public:
  explicit LoopEvaluator(const Module& module) : module_(module) {}

  // The value of an instruction, given the arguments of its computation; missing ones are unknown.
  [[nodiscard]] ScalarValue evaluate(const Computation& computation, InstrId id,
                                     const ScalarValues& arguments);
  [[nodiscard]] LoopRun run(const Instruction& while_op, const ScalarValue& state);

 private:
  // One run of a computation.
  struct Activation {
    const Computation& computation;
    const ScalarValues& arguments;
    std::unordered_map<std::uint32_t, ScalarValue> values;  // by instruction
  };
  [[nodiscard]] const ScalarValue& value_of(Activation& at, InstrId id);
  [[nodiscard]] ScalarValue computed(Activation& at, const Instruction& op);
  [[nodiscard]] ScalarValue element(Activation& at, const Instruction& get);
  [[nodiscard]] ScalarValue called(Activation& at, ComputationId callee,
                                   const std::vector<InstrId>& operands);
  [[nodiscard]] ScalarValue branch(Activation& at, const Instruction& conditional);
  void count_in_closed_form(const Instruction& while_op, const ScalarValue& state, LoopRun& run);

  const Module& module_;
  std::int64_t budget_ = 4'000'000;  // instructions
  int depth_ = 0;
};

// The trip count stated by the compiler, >= 0; nullopt if there is none.
[[nodiscard]] std::optional<std::int64_t> known_trip_count(const Instruction& while_op);
// The trip count of a loop in a computation whose arguments are unknown.
[[nodiscard]] std::optional<std::int64_t> trip_count(const Module& module,
                                                     const Computation& caller,
                                                     const Instruction& while_op);

}  // namespace tilecast::ir
