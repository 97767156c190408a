// How often while loops run: known_trip_count of the backend_config, else their own scalar code is
// evaluated, at most 128 steps of it (as XLA's ComputeWhileLoopTripCount does), else a counter that
// moves by a constant is counted in closed form, else unknown.
//
//   LoopEvaluator loops(module);
//   const ScalarValue state = loops.evaluate(caller, while_op.operands[0], {});
//   const LoopRun run = loops.run(while_op, state);   // run.trips
//
// Integers wrap as their types do. Everything here is bounded by a budget for the module: code that
// exceeds it is unknown. One evaluator belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

// A scalar integer or pred as far as it follows from constants, or a tuple of such.
struct ScalarValue {
  DType type = DType::kInvalid;  // kInvalid: not known, or a tuple
  std::int64_t value = 0;
  std::int32_t element = -1;              // >= 0: value is added to that element of a loop's state
  const CompareAttrs* compare = nullptr;  // of elements[0] and elements[1], which is not decided
  std::vector<ScalarValue> elements;

  [[nodiscard]] bool is_known() const {
    return type != DType::kInvalid && element < 0 && compare == nullptr;
  }
};
using ScalarValues = std::vector<ScalarValue>;

// What `a` and `b` agree in.
[[nodiscard]] ScalarValue common(const ScalarValue& a, const ScalarValue& b);

struct LoopRun {
  std::optional<std::int64_t> trips;
  bool is_stepwise = false;  // states holds the state of every iteration, end the one after them
  // Else one state: what stays as it is in all iterations.
  ScalarValues states;
  ScalarValue end;
};

class LoopEvaluator {
 public:
  explicit LoopEvaluator(const Module& module) : module_(module) {}

  // An instruction's value, by the arguments of its computation; those left out are unknown.
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

// 0 or more, as the compiler says; nothing where it does not.
[[nodiscard]] std::optional<std::int64_t> known_trip_count(const Instruction& while_op);
// Of a loop whose computation gets arguments that are not known.
[[nodiscard]] std::optional<std::int64_t> trip_count(const Module& module,
                                                     const Computation& caller,
                                                     const Instruction& while_op);

}  // namespace tilecast::ir
