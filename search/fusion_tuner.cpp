#include "search/fusion_tuner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tilecast::search {
namespace {

std::string name_of(const PlanHash& plan) {
  return fmt::format("{:016x}{:016x}", plan[0], plan[1]);
}

}  // namespace

TunedFusion verify_fusions(const ir::FusionSpace& space, std::span<const FoundFusion> found,
                           const PlanCost& by_rules, Hardware& hardware,
                           const VerifyOptions& options, TuningJournal& journal) {
  const std::string program = space.program_hash();
  const auto trial = [&](const ir::FusionConfiguration& chosen, std::string name) {
    return HardwareTrial{std::move(name), [&space, &chosen, &options, program] {
                           return HardwareJob{program, space.fused(chosen), options.tiles};
                         }};
  };
  HardwareTrials trials(hardware, journal, options.now);
  TunedFusion tuned;
  const ir::FusionConfiguration rules = space.by_rules();
  const HardwareTrial reference = trial(rules, name_of(by_rules.plan));
  HardwareTime first = trials.time({&reference, 1}, reference).front();
  if (!first.seconds) {
    throw Error(fmt::format("{}: fused by the rules it does not run here: {}", space.module().name,
                            first.failure));
  }
  tuned.tried.push_back({0, by_rules, first});
  double best_s = *first.seconds;
  std::size_t best = found.size();
  const auto is_open = [&] { return !tuned.stopped && trials.spent_s() < options.budget_s; };
  for (std::size_t next = 0; next < found.size() && is_open();) {
    std::vector<HardwareTrial> asked;
    std::vector<std::size_t> which;
    for (; next < found.size() && asked.size() < options.batch; ++next) {
      if (found[next].cost.plan == by_rules.plan) continue;
      asked.push_back(trial(found[next].chosen, name_of(found[next].cost.plan)));
      which.push_back(next);
    }
    if (asked.empty()) break;
    const std::vector<HardwareTime> times = trials.time(asked, reference);
    for (std::size_t i = 0; i < which.size(); ++i) {
      tuned.tried.push_back({which[i] + 1, found[which[i]].cost, times[i]});
      if (times[i].seconds && *times[i].seconds < best_s) {
        best_s = *times[i].seconds;
        best = which[i];
      }
      tuned.stopped |= !options.step(tuned.tried.size(), best_s);
    }
  }
  tuned.chosen = rules;
  tuned.by_rules_s = tuned.chosen_s = *first.seconds;
  if (best < found.size() && !tuned.stopped) {
    const std::vector<HardwareTrial> closing = {
        trial(rules, name_of(by_rules.plan) + " again"),
        trial(found[best].chosen, name_of(found[best].cost.plan) + " again")};
    const std::vector<HardwareTime> pair = trials.time(closing, reference);
    if (pair[0].seconds) tuned.by_rules_s = tuned.chosen_s = *pair[0].seconds;
    if (pair[0].seconds && pair[1].seconds && *pair[1].seconds < *pair[0].seconds) {
      tuned.chosen = found[best].chosen;
      tuned.chosen_rank = best + 1;
      tuned.chosen_s = *pair[1].seconds;
    }
  }
  tuned.spent_s = trials.spent_s();
  return tuned;
}

}  // namespace tilecast::search
