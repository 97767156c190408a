#include "ir/memory_assignment.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "ir/fusion/fusion_rules.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

// An array produced by a kernel and read by later ones: its first and last position in the
// schedule, and every instruction whose shape contains it (`element` of a tuple, or -1).
struct Result {
  struct Name {
    InstrId instruction;
    std::int64_t element = -1;
  };
  std::vector<Name> names;
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
};

class ComputationResults {
 public:
  ComputationResults(const Module& module, const Computation& computation)
      : module_(module), computation_(computation), users_(user_lists(computation)) {}

  // The results that may stay on chip, in order of production.
  [[nodiscard]] std::vector<Result> find() {
    const std::vector<InstrId> order = schedule_order(computation_);
    places_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) places_[order[i].index()] = i;
    std::vector<Result> results;
    for (const InstrId id : order) {
      const Shape& shape = computation_.at(id).shape;
      if (!makes_results(id)) continue;
      const auto elements = static_cast<std::int64_t>(shape.elements.size());
      if (shape.is_array()) add(id, -1, shape, results);
      for (std::int64_t i = 0; i < elements; ++i) add(id, i, shape.elements[i], results);
    }
    return results;
  }

 private:
  [[nodiscard]] bool makes_results(InstrId id) const {
    const Instruction& op = computation_.at(id);
    return is_kernel(op) && id != computation_.root && !updates_in_place(op) &&
           (op.opcode != Opcode::kFusion || !is_update(module_.at(op.called[0])));
  }

  [[nodiscard]] static bool is_kernel(const Instruction& op) {
    switch (op_class(op.opcode)) {
      case OpClass::kFree:
      case OpClass::kAsyncDone:
      case OpClass::kControl:
      case OpClass::kCollective:
      case OpClass::kCustomCall:
      case OpClass::kHost:
        return false;
      default:
        return !starts_asynchronously(op.opcode);
    }
  }

  [[nodiscard]] static bool is_update(const Computation& fused) {
    const Instruction& root = fused.root_instruction();
    const auto updates = [&](InstrId id) { return updates_in_place(fused.at(id)); };
    return updates_in_place(root) ||
           (root.opcode == Opcode::kTuple && std::ranges::any_of(root.operands, updates));
  }

  void add(InstrId id, std::int64_t element, const Shape& shape, std::vector<Result>& results) {
    if (!shape.is_array() || shape.rank() == 0) return;
    Result result{{}, padded_bytes(shape), places_[id.index()], places_[id.index()]};
    if (follow(id, element, result) && result.last > result.first) {
      results.push_back(std::move(result));
    }
  }

  // Adds the instructions whose shapes contain the array; false if anything other than a kernel
  // reads it.
  bool follow(InstrId id, std::int64_t element, Result& result) {
    result.names.push_back({id, element});
    if (id == computation_.root) return false;
    return std::ranges::all_of(users_[id.index()], [&](InstrId user) {
      const Instruction& op = computation_.at(user);
      if (element >= 0) {
        if (op.opcode != Opcode::kGetTupleElement) return false;
        return op.as<IndexAttrs>().index != element || follow(user, -1, result);
      }
      if (op.opcode == Opcode::kBitcast) return follow(user, -1, result);
      result.last = std::max(result.last, places_[user.index()]);
      return is_kernel(op);
    });
  }

  const Module& module_;
  const Computation& computation_;
  UserLists users_;
  std::vector<std::size_t> places_;  // position in the schedule, by instruction
};

// Which of the results fit on chip together.
std::vector<bool> fitting(const std::vector<Result>& results, std::int64_t capacity) {
  std::vector<bool> stays(results.size());
  std::set<std::pair<std::size_t, std::size_t>> held;  // last use, result
  std::int64_t used = 0;
  const auto drop = [&](auto place) {
    used -= results[place->second].bytes;
    held.erase(place);
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    while (!held.empty() && held.begin()->first < results[i].first) drop(held.begin());
    if (results[i].bytes > capacity) continue;
    stays[i] = true;
    held.emplace(results[i].last, i);
    used += results[i].bytes;
    while (used > capacity) {
      const auto furthest = std::prev(held.end());
      stays[furthest->second] = false;
      drop(furthest);
    }
  }
  return stays;
}

}  // namespace

std::size_t keep_on_chip(Module& module, const ScratchpadRules& rules) {
  std::size_t count = 0;
  if (rules.capacity <= 0) return count;
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    if (!sequential[c]) continue;
    Computation& computation = module.computations[c];
    const std::vector<Result> results = ComputationResults(module, computation).find();
    const std::vector<bool> stays = fitting(results, rules.capacity);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!stays[i]) continue;
      ++count;
      for (const auto& [id, element] : results[i].names) {
        Shape& shape = computation.instructions[id.index()].shape;
        (element < 0 ? shape : shape.elements[element]).layout.edit().memory_space = rules.space;
      }
    }
  }
  return count;
}

}  // namespace tilecast::ir
