#include "search/fusion_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tilecast::search {
namespace {

std::string name_of(const PlanHash& plan) {
  return fmt::format("{:016x}{:016x}", plan[0], plan[1]);
}

// Runs the program of a space under a configuration, which outlives the trial.
HardwareTrial trial_of(const ir::FusionSpace& space, const ir::FusionConfiguration& chosen,
                       const TileChoices& tiles, std::string name) {
  return {std::move(name), [&] {
            return HardwareJob{space.program_hash(), space.fused(chosen), tiles};
          }};
}

}  // namespace

HardwareObjective::HardwareObjective(FusionCost& plans, HardwareTrials& trials,
                                     const TileChoices& tiles)
    : plans_(plans), trials_(trials), tiles_(tiles), rules_(plans.space().by_rules()) {
  reference_ = trial_of(plans_.space(), rules_, tiles_, name_of(plans_.of(rules_).plan));
}

PlanCost HardwareObjective::of(const ir::FusionConfiguration& chosen) {
  PlanCost cost = plans_.of(chosen);
  const HardwareTrial trial = trial_of(plans_.space(), chosen, tiles_, name_of(cost.plan));
  const HardwareTime time = trials_.time({&trial, 1}, reference_).front();
  cost.seconds = time.seconds.value_or(std::numeric_limits<double>::infinity());
  return cost;
}

TunedFusion verify_fusions(const ir::FusionSpace& space, std::span<const FoundFusion> found,
                           const PlanCost& by_rules, Hardware& hardware,
                           const VerifyOptions& options, TuningJournal& journal) {
  const auto trial = [&](const ir::FusionConfiguration& chosen, std::string name) {
    return trial_of(space, chosen, options.tiles, std::move(name));
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
    const std::vector<HardwareTime> pair = fastest_of_sittings(
        trials,
        std::vector<HardwareTrial>{trial(rules, name_of(by_rules.plan)),
                                   trial(found[best].chosen, name_of(found[best].cost.plan))});
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
