#include "ir/fusion/fusion_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/error.h"
#include "ir/fusion/fusion_planner.h"
#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/op_hash.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

constexpr std::size_t kSteps = std::size(kFusionSteps);

// Whether the reader's kernel may ever compute the array.
bool may_join(const Computation& computation, const Instruction& array, const Instruction& reader) {
  for (std::size_t i = 0; i < reader.operands.size(); ++i) {
    if (&computation.at(reader.operands[i]) == &array &&
        !accepts_producer(computation, reader, i, array)) {
      return false;
    }
  }
  return true;
}

// By instruction: whether it may be computed in several kernels, because it has several readers or
// its only reader may be computed in several.
std::vector<bool> copied(const Computation& computation, const FusionGraph& graph) {
  std::vector<bool> result(computation.instructions.size(), false);
  for (auto id = static_cast<std::uint32_t>(result.size()); id-- > 0;) {
    const Instruction& op = computation.instructions[id];
    const auto users = graph.users(id);
    if (users.empty() || !fuses_into_users(op)) continue;
    if (!may_be_duplicated(computation, op) && (!streams(op) || is_costly(op))) continue;
    result[id] = users.front() != users.back() || result[users.front()];
  }
  return result;
}

// Sizes and types only; layouts depend on the device.
void add_plain_shape(Hash128& hash, const Shape& shape) {
  hash.add(name(shape.dtype));
  hash.add(shape.dims);
  hash.add(std::uint64_t{shape.elements.size()});
  for (const Shape& element : shape.elements) add_plain_shape(hash, element);
}

void add_computation(Hash128& hash, const Computation& computation) {
  hash.add(std::uint64_t{computation.instructions.size()});
  hash.add(std::uint64_t{computation.root.index()});
  for (const Instruction& op : computation.instructions) {
    hash.add(name(op.opcode));
    add_plain_shape(hash, op.shape);
    hash.add(op.dimensions);
    add_cost_attributes(hash, op.attrs);
    add_value_attributes(hash, op.attrs);
    for (const InstrId operand : op.operands) hash.add(std::uint64_t{operand.index()});
    for (const ComputationId called : op.called) hash.add(std::uint64_t{called.index()});
  }
}

}  // namespace

FusionSpace::FusionSpace(Module module, const FusionOptions& options)
    : module_(with_copies(std::move(module))), options_(options) {
  highest_number_ = FreshNames(module_).highest();
  sequential_ = sequential_computations(module_);
  module_ = tidied(std::move(module_));
  for (std::size_t i = 0; i < module_.computations.size(); ++i) {
    graphs_.emplace_back(module_.computations[i]);
    slots_.emplace_back(kSteps * graphs_[i].edges(), FusionChoices::kNone);
    if (sequential_[i]) list_decisions(ComputationId(i));
  }
}

void FusionSpace::list_decisions(ComputationId id) {
  const Computation& computation = module_.at(id);
  const FusionGraph& graph = graphs_[id.index()];
  std::vector<std::uint32_t>& slots = slots_[id.index()];
  const auto fits = [&](std::uint32_t op) {
    return !graph.is_pinned(op) && is_fusible(computation.instructions[op]);
  };
  const std::vector<bool> in_several = copied(computation, graph);
  for (std::uint32_t array = 0; array < computation.instructions.size(); ++array) {
    const Instruction& made = computation.instructions[array];
    const auto users = graph.users(array);
    const bool is_root = computation.root.index() == array;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const std::uint32_t user = users[i];
      if ((i > 0 && user == users[i - 1]) || !fits(user)) continue;
      const auto slot = [&](FusionStep step) -> std::uint32_t& {
        return slots[static_cast<std::size_t>(step) * graph.edges() + graph.first_edge(array) + i];
      };
      const auto decide = [&](FusionStep step, bool may_recompute) {
        slot(step) = static_cast<std::uint32_t>(decisions_.size());
        decisions_.push_back({step, id, InstrId(array), InstrId(user), may_recompute});
      };
      const bool several = users.front() != users.back() || in_several[user];
      const bool fusible = fits(array) && fuses_into_users(made);
      const bool joins = fusible && may_join(computation, made, computation.instructions[user]);
      if (joins) decide(FusionStep::kInto, several && streams(made) && !is_costly(made));
      if (joins && !several && !is_root) {
        // Nothing else reads the array, so it is not a result of the merged kernel.
        slot(FusionStep::kOutput) = slot(FusionStep::kInto);
      } else if (fusible) {
        decide(FusionStep::kOutput, false);
      }
      if (several && made.shape.is_array() && !made.shape.is_scalar()) {
        decide(FusionStep::kBeside, false);
      }
    }
  }
}

FusionConfiguration FusionSpace::random(double share, std::uint64_t seed) const {
  std::mt19937_64 engine(seed);
  FusionConfiguration chosen = by_rules();
  for (FusionChoice& choice : chosen) {
    const double drawn = std::ldexp(static_cast<double>(engine() >> 11), -53);
    if (drawn >= share) choice = FusionChoice::kKeep;
  }
  return chosen;
}

std::vector<FusedKernel> FusionSpace::plan(ComputationId computation,
                                           const FusionConfiguration& chosen) const {
  const std::size_t i = computation.index();
  return FusionPlanner(module_.computations[i], graphs_[i], options_, choices(i, chosen)).plan();
}

Module FusionSpace::fused(const FusionConfiguration& chosen) const {
  TC_CHECK(chosen.size() == decisions_.size(), "a choice for every decision");
  return with_plans(module_, FreshNames(highest_number_),
                    [&](const Computation&, std::size_t computation) {
                      return plan(ComputationId(computation), chosen);
                    });
}

Module fuse_at_random(Module module, double share, std::uint64_t seed,
                      const FusionOptions& options) {
  const FusionSpace space(std::move(module), options);
  return space.fused(space.random(share, seed));
}

std::string FusionSpace::program_hash() const {
  Hash128 hash;
  hash.add(std::uint64_t{module_.entry.index()});
  for (const Computation& computation : module_.computations) add_computation(hash, computation);
  return fmt::format("{:016x}{:016x}", hash.result()[0], hash.result()[1]);
}

}  // namespace tilecast::ir
