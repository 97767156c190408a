// Flattens a module's control flow into the kernels of a Program; part of make_program(). Single
// use, not thread-safe.
#pragma once

#include <boost/container/small_vector.hpp>
#include <map>
#include <unordered_map>

#include "ir/counts/trip_count.h"
#include "ir/counts/work_counts.h"
#include "ir/program.h"

namespace tilecast::ir {

class ProgramBuilder {
 public:
  ProgramBuilder(const Module& module, const ProgramOptions& options);
  [[nodiscard]] Program build();

 private:
  // The kernels that produce a result: as a whole and, where known, per tuple element.
  using ValueId = std::uint32_t;
  struct Value {
    boost::container::small_vector<KernelId, 2> kernels;
    std::vector<ValueId> elements;
  };
  // State of one walk through one computation.
  struct Frame {
    ComputationId computation;
    std::vector<ValueId> values;  // by instruction
    std::vector<ValueId> arguments;
    double multiplicity = 1;
    std::int32_t loop_depth = 0;
    // Known scalar values of its arguments, for loops: one row per run, or a single row that holds
    // for all runs.
    std::vector<ScalarValues> scalars;
    std::vector<KernelId> pending;  // asynchronous kernels whose first user has not been seen yet
  };
  struct Trips {
    std::optional<double> total;        // over all runs of the loop
    std::vector<ScalarValues> scalars;  // for the body's frame
  };
  struct Pending {
    std::size_t done_at;  // number of kernels scheduled before its done op
    bool done = false;
  };

  [[nodiscard]] ValueId walk(Frame frame, int depth);
  // The frame for a computation called from `frame`.
  [[nodiscard]] Frame inside(const Frame& frame, ComputationId callee,
                             const std::vector<InstrId>& operands, double multiplicity);
  [[nodiscard]] Trips count_trips(const Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId visit(Frame& frame, InstrId id, int depth);
  [[nodiscard]] ValueId visit_while(Frame& frame, const Instruction& op, int depth);
  [[nodiscard]] ValueId visit_conditional(Frame& frame, const Instruction& op, int depth);
  [[nodiscard]] ValueId visit_done(Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId visit_free(Frame& frame, const Instruction& op);
  [[nodiscard]] ValueId launch(Frame& frame, InstrId id);
  void resolve_first_use(Frame& frame, KernelId user, const std::vector<KernelId>& used);
  void close(Frame& frame);
  void make_kernels();

  [[nodiscard]] ValueId add_value(Value value);
  [[nodiscard]] ValueId element(ValueId tuple, std::int64_t index) const;
  [[nodiscard]] std::vector<KernelId> kernels_behind(const std::vector<ValueId>& values);
  [[nodiscard]] ValueId merged(const std::vector<ValueId>& values);
  [[nodiscard]] std::vector<ValueId> operand_values(const Frame& frame,
                                                    const Instruction& op) const;
  void note(std::string what);
  void note_shape(const Shape& shape);

  const Module& module_;
  const ProgramOptions& options_;
  std::vector<std::pair<ComputationId, InstrId>> launched_;  // by kernel
  LoopEvaluator loops_;
  std::vector<bool> has_loop_;  // by computation
  Program program_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> seen_;  // by ValueId: last kernels_behind() that visited it
  std::uint32_t visit_number_ = 0;
  std::size_t visited_ = 0;
  std::unordered_map<std::uint32_t, Pending> pending_;  // by kernel id
  std::map<std::string, std::size_t> note_positions_;
};

}  // namespace tilecast::ir
