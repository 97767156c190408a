#include "analytical/simt_passes.h"

#include <algorithm>
#include <bit>

#include "ir/array_elements.h"

namespace tilecast::analytical {
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
      switch (kernel.op(user).opcode) {
        case ir::Opcode::kBroadcast:
        case ir::Opcode::kReshape:
        case ir::Opcode::kBitcast:
        case ir::Opcode::kConvert:
          copies.push_back(user);
          break;
        case ir::Opcode::kSubtract:
          if (!feeds_exponential(kernel, user)) return false;
          shifts = true;
          break;
        default:
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

double repeated_miss_share(double capacity, double in_flight) {
  constexpr double kSpread = 1.0 / 3;
  if (in_flight <= 0) return 0;
  const double nearest = in_flight * (1 - kSpread), farthest = in_flight * (1 + kSpread);
  return std::clamp((farthest - capacity) / (farthest - nearest), 0.0, 1.0);
}

}  // namespace tilecast::analytical
