#include "search/fusion_moves.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace tilecast::search {

using ir::FusionChoice;
using ir::FusionConfiguration;

FusionMoves::FusionMoves(const ir::FusionSpace& space) : space_(space) {
  const auto decisions = space.decisions();
  for (std::uint32_t i = 0; i < decisions.size(); ++i) {
    at_[{decisions[i].computation, decisions[i].array}].push_back(i);
    at_[{decisions[i].computation, decisions[i].reader}].push_back(i);
  }
}

std::vector<FusionChoice> FusionMoves::others(const FusionConfiguration& chosen,
                                              std::uint32_t decision) const {
  std::vector<FusionChoice> choices = {FusionChoice::kRule, FusionChoice::kKeep};
  if (space_.decisions()[decision].may_recompute) choices.push_back(FusionChoice::kFuse);
  std::erase(choices, chosen[decision]);
  return choices;
}

void FusionMoves::flip(FusionConfiguration& chosen, std::uint32_t decision,
                       std::mt19937_64& random) const {
  const std::vector<FusionChoice> choices = others(chosen, decision);
  chosen[decision] = choices[base::draw(random, choices.size())];
}

std::span<const std::uint32_t> FusionMoves::around(std::uint32_t decision,
                                                   std::mt19937_64& random) const {
  const ir::FusionDecision& found = space_.decisions()[decision];
  const ir::InstrId op = base::draw(random, 2) == 0 ? found.array : found.reader;
  return at_.at({found.computation, op});
}

void FusionMoves::step(FusionConfiguration& chosen, std::mt19937_64& random) const {
  constexpr std::uint64_t kOf = 10, kFlips = 6, kSwaps = 2;  // of ten steps; the rest: regions
  const auto decision = static_cast<std::uint32_t>(base::draw(random, chosen.size()));
  const std::uint64_t kind = base::draw(random, kOf);
  if (kind < kFlips) return flip(chosen, decision, random);
  const std::span<const std::uint32_t> near = around(decision, random);
  if (kind < kFlips + kSwaps) {
    const std::uint32_t other = near[base::draw(random, near.size())];
    if (chosen[other] == chosen[decision]) return flip(chosen, decision, random);
    // A choice that is not available to the other decision becomes kRule.
    const auto given = [&](std::uint32_t to, FusionChoice choice) {
      const bool fits = choice != FusionChoice::kFuse || space_.decisions()[to].may_recompute;
      return fits ? choice : FusionChoice::kRule;
    };
    const FusionChoice mine = chosen[decision];
    chosen[decision] = given(decision, chosen[other]);
    chosen[other] = given(other, mine);
    return;
  }
  const FusionChoice all = base::draw(random, 2) == 0 ? FusionChoice::kKeep : FusionChoice::kRule;
  for (const std::uint32_t each : near) chosen[each] = all;
}

std::vector<std::uint32_t> FusionMoves::by_time(std::span<const FusionCost::KernelTime> kernels,
                                                std::mt19937_64& random) const {
  std::vector<double> seconds(space_.decisions().size(), 0);
  for (const FusionCost::KernelTime& one : kernels) {
    for (const ir::InstrId member : one.kernel.members) {
      const auto found = at_.find({one.computation, member});
      if (found == at_.end()) continue;
      for (const std::uint32_t decision : found->second) {
        seconds[decision] = std::max(seconds[decision], one.seconds);
      }
    }
  }
  std::vector<std::uint32_t> order(seconds.size());
  std::iota(order.begin(), order.end(), 0U);
  base::shuffle(order, random);
  std::ranges::stable_sort(
      order, [&](std::uint32_t a, std::uint32_t b) { return seconds[a] > seconds[b]; });
  return order;
}

}  // namespace tilecast::search
