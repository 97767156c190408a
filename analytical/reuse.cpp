#include "analytical/reuse.h"

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <set>

#include "ir/array_elements.h"

namespace tilecast::analytical {
namespace {

// Adds `times` loads at reuse distance `distance` to the levels that hold them.
void add_repeats(double times, double distance, std::span<const double> capacities,
                 LoadsFrom& loads) {
  double missed = 1;
  for (std::size_t level = capacities.size(); level-- > 1;) {
    const double misses = std::min(missed, repeated_miss_share(capacities[level], distance));
    loads[level] += times * (missed - misses);
    missed = misses;
  }
  loads[0] += times * missed;
}

struct Reused {         // an operand, over the loops seen so far
  double distinct = 1;  // distinct tiles: each has one first load
  double swept = 0;     // its bytes that the loops touch
  double distance = 0;  // bytes between two uses of a tile, since a loop last moved it
  bool moved = false;   // by a loop
  bool moved_last = false;
};

}  // namespace

void count_loads(std::span<const NestLoop> nest, std::span<const Operand> operands,
                 std::span<const double> capacities, double always_bytes,
                 std::span<LoadsFrom> loads) {
  boost::container::small_vector<Reused, 16> reused(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    loads[i] = {};
    loads[i][0] = 1;
    reused[i].swept = operands[i].tile_bytes;
  }
  for (const NestLoop& step : nest) {
    if (step.tiles <= 1) continue;
    double distance = always_bytes;
    for (const Reused& operand : reused) distance += operand.swept;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Reused& operand = reused[i];
      const bool moves = (operands[i].loops >> step.loop & 1U) != 0;
      if (moves) {
        for (double& count : loads[i]) count *= step.tiles;
        operand.swept *= step.tiles;
        operand.distinct *= step.tiles;
        operand.moved = true;
      } else if (operand.moved) {
        if (operand.moved_last) operand.distance = distance;
        loads[i][0] -= operand.distinct;  // only repeated loads are scaled
        for (double& count : loads[i]) count *= step.tiles;
        loads[i][0] += operand.distinct;
        add_repeats(operand.distinct * (step.tiles - 1), operand.distance, capacities, loads[i]);
      }
      operand.moved_last = moves;
    }
  }
}

namespace {

using ir::OpId;

constexpr int kMaxPasses = 31;

double elements(const ir::Kernel& kernel, OpId id) {
  return ir::array_elements(kernel.op(id).shape);
}

bool shrinks(const ir::Kernel& kernel, OpId id) {
  const ir::Op& op = kernel.op(id);
  return op.opcode == ir::Opcode::kReduce && !op.operands.empty() && elements(kernel, id) > 0 &&
         elements(kernel, op.operands[0]) > elements(kernel, id);
}

bool feeds_exponential(const ir::Kernel& kernel, OpId id) {
  const auto users = kernel.users(id);
  return std::any_of(users.begin(), users.end(),
                     [&](OpId user) { return kernel.op(user).opcode == ir::Opcode::kExp; });
}

// Whether `id` is only ever subtracted from the argument of exponentials.
bool shifts_exponentials(const ir::Kernel& kernel, OpId id) {
  std::vector<OpId> copies{id};
  bool shifts = false;
  while (!copies.empty()) {
    const auto users = kernel.users(copies.back());
    copies.pop_back();
    for (const OpId user : users) {
      const ir::Opcode opcode = kernel.op(user).opcode;
      if (ir::has(opcode, ir::Trait::kSpreads) || ir::has(opcode, ir::Trait::kReshapes) ||
          ir::arithmetic(opcode) == ir::Arithmetic::kConversion) {
        copies.push_back(user);
      } else if (opcode == ir::Opcode::kSubtract && feeds_exponential(kernel, user)) {
        shifts = true;
      } else {
        return false;
      }
    }
  }
  return shifts;
}

// Loops along which the operand's region moves and the result's does not.
std::uint32_t loops_reduced(const ir::Kernel& kernel, const Footprints& footprints, OpId id) {
  const auto groups = footprints.groups();
  return groups[footprints.group_of(kernel.op(id).operands[0])].loops &
         ~groups[footprints.group_of(id)].loops;
}

// The pass in which each op is first computed.
std::vector<int> first_passes(const ir::Kernel& kernel, const std::vector<bool>& reduces) {
  std::vector<int> pass(kernel.ops().size(), 0);
  std::vector<bool> ends_pass(pass.size(), false);
  for (std::size_t i = 0; i < pass.size(); ++i) {
    ends_pass[i] = reduces[i] && !shifts_exponentials(kernel, OpId(i));
    for (const OpId operand : kernel.ops()[i].operands) {
      const int after = pass[operand.index()] + (ends_pass[operand.index()] ? 1 : 0);
      pass[i] = std::max(pass[i], std::min(after, kMaxPasses));
    }
  }
  return pass;
}

// Per op, the number of passes that need it for their own reductions or results.
std::vector<int> times_needed(const ir::Kernel& kernel, const std::vector<bool>& reduces,
                              const std::vector<int>& pass) {
  std::vector<std::uint32_t> needed_in(pass.size(), 0);
  for (const OpId output : kernel.outputs()) {
    needed_in[output.index()] |= std::uint32_t{1} << pass[output.index()];
  }
  for (std::size_t i = pass.size(); i-- > 0;) {
    if (reduces[i] && needed_in[i] != 0) needed_in[i] = std::uint32_t{1} << pass[i];
    for (const OpId operand : kernel.ops()[i].operands) {
      needed_in[operand.index()] |= needed_in[i];
    }
  }
  std::vector<int> times;
  times.reserve(pass.size());
  for (const std::uint32_t passes : needed_in) times.push_back(std::max(std::popcount(passes), 1));
  return times;
}

// Whether the value costs no register: it is computed again from positions and scalars.
bool is_made_anew(const ir::Kernel& kernel, OpId id) {
  const ir::Opcode opcode = kernel.op(id).opcode;
  return opcode == ir::Opcode::kIota || opcode == ir::Opcode::kConstant ||
         ir::has(opcode, ir::Trait::kSpreads);
}

}  // namespace

Passes passes_of(const ir::Kernel& kernel, const Footprints& footprints) {
  const std::size_t ops = kernel.ops().size();
  std::vector<bool> reduces(ops, false);
  Passes passes;
  double largest = 0;
  for (std::size_t i = 0; i < ops; ++i) {
    reduces[i] = shrinks(kernel, OpId(i));
    if (!reduces[i]) continue;
    const double input = elements(kernel, kernel.ops()[i].operands[0]);
    largest = std::max(largest, input);
    passes.row_elements = std::max(passes.row_elements, input / elements(kernel, OpId(i)));
    passes.reduced_loops |= loops_reduced(kernel, footprints, OpId(i));
  }
  if (largest == 0) return passes;
  const std::vector<int> pass = first_passes(kernel, reduces);
  for (std::size_t i = 0; i < ops; ++i) {
    if (elements(kernel, OpId(i)) >= largest) passes.count = std::max(passes.count, pass[i] + 1);
  }
  if (passes.count > 1) passes.times = times_needed(kernel, reduces, pass);
  return passes;
}

OpId unconverted(const ir::Kernel& kernel, OpId id) {
  while (true) {
    const ir::Op& op = kernel.op(id);
    const bool same = ir::has(op.opcode, ir::Trait::kReshapes) ||
                      ir::arithmetic(op.opcode) == ir::Arithmetic::kConversion;
    if (!same || op.operands.size() != 1) return id;
    id = op.operands[0];
  }
}

double kept_over_reductions(const ir::Kernel& kernel) {
  const std::size_t ops = kernel.ops().size();
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < ops; ++i) {
    if (shrinks(kernel, OpId(i)))
      largest = std::max(largest, elements(kernel, kernel.ops()[i].operands[0]));
  }
  for (std::size_t i = 0; i < ops; ++i) {
    if (!shrinks(kernel, OpId(i))) continue;
    std::vector<bool> after(ops, false);
    after[i] = true;
    std::set<OpId> kept;
    for (std::size_t j = i + 1; j < ops; ++j) {
      const std::vector<OpId>& operands = kernel.ops()[j].operands;
      after[j] = std::ranges::any_of(operands, [&](OpId id) { return after[id.index()]; });
      for (const OpId operand : operands) {
        const OpId held = unconverted(kernel, operand);
        const bool whole = elements(kernel, held) >= largest && !is_made_anew(kernel, held);
        if (after[j] && !after[operand.index()] && whole) kept.insert(held);
      }
    }
    double bytes = 0;
    for (const OpId id : kept) bytes += ir::storage_bytes(kernel.op(id).shape.dtype);
    most = std::max(most, bytes);
  }
  return most;
}

double repeated_miss_share(double capacity, double in_flight) {
  constexpr double kSpread = 1.0 / 3;
  if (in_flight <= 0) return 0;
  const double nearest = in_flight * (1 - kSpread), farthest = in_flight * (1 + kSpread);
  return std::clamp((farthest - capacity) / (farthest - nearest), 0.0, 1.0);
}

}  // namespace tilecast::analytical
