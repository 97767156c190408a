#include "search/fusion_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <unordered_set>

#include "base/error.h"
#include "search/fusion_search.h"

namespace tilecast::search {
namespace {

std::string name_of(const PlanHash& plan) {
  return fmt::format("{:016x}{:016x}", plan[0], plan[1]);
}

// Trial of a space's program under a configuration, which must outlive it.
HardwareTrial trial_of(const ir::FusionSpace& space, const ir::FusionConfiguration& chosen,
                       const TileChoices& tiles, std::string name) {
  return {std::move(name), [&] {
            return HardwareJob{space.program_hash(), space.fused(chosen), tiles};
          }};
}

// Ranks of the fastest that ran, without the rules' program; at most kFinalists.
std::vector<std::size_t> fastest_ranks(const std::vector<TriedFusion>& tried) {
  std::vector<const TriedFusion*> ran;
  for (const TriedFusion& one : tried) {
    if (one.rank > 0 && one.measured.seconds) ran.push_back(&one);
  }
  std::ranges::stable_sort(ran, {}, [](const TriedFusion* one) { return *one->measured.seconds; });
  if (ran.size() > kFinalists) ran.resize(kFinalists);
  std::vector<std::size_t> ranks;
  for (const TriedFusion* one : ran) ranks.push_back(one->rank);
  return ranks;
}

// The index of the fastest; 0 if the first failed.
std::size_t fastest_index(const std::vector<HardwareTime>& times) {
  std::size_t best = 0;
  if (!times[0].seconds) return best;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i].seconds && *times[i].seconds < *times[best].seconds) best = i;
  }
  return best;
}

class Verifier {
 public:
  Verifier(FusionCost& plans, const FusionSearch& found, Hardware& hardware,
           const VerifyOptions& options, TuningJournal& journal)
      : plans_(plans),
        options_(options),
        by_rank_(found.best.begin(), found.best.end()),
        rules_{plans.space().by_rules(), found.by_rules},
        reference_(trial(rules_)),
        trials_(hardware, journal, options.now) {}

  TunedFusion run() {
    run_rules();
    run_in_order();
    refine();
    tuned_.chosen = rules_.chosen;
    tuned_.by_rules_s = tuned_.chosen_s = *tuned_.tried.front().measured.seconds;
    if (!tuned_.stopped) choose();
    tuned_.spent_s = trials_.spent_s();
    return std::move(tuned_);
  }

 private:
  [[nodiscard]] HardwareTrial trial(const FoundFusion& one) const {
    return trial_of(plans_.space(), one.chosen, options_.tiles, name_of(one.cost.plan));
  }
  [[nodiscard]] const FoundFusion& at_rank(std::size_t rank) const {
    return rank == 0 ? rules_ : by_rank_[rank - 1];
  }
  [[nodiscard]] bool is_open(double share) const {
    return !tuned_.stopped && trials_.spent_s() < share * options_.budget_s;
  }

  void run_rules() {
    HardwareTime first = trials_.time({&reference_, 1}, reference_).front();
    if (!first.seconds) {
      throw Error(fmt::format("{}: fused by the rules it does not run here: {}",
                              plans_.space().module().name, first.failure));
    }
    best_s_ = *first.seconds;
    seen_.insert(name_of(rules_.cost.plan));
    tuned_.tried.push_back({0, rules_.cost, std::move(first)});
  }

  void run_in_order() {
    const std::size_t listed = by_rank_.size();
    for (std::size_t next = 0; next < listed && is_open(1 - options_.refine);) {
      std::vector<std::size_t> ranks;
      for (; next < listed && ranks.size() < options_.batch; ++next) {
        if (seen_.insert(name_of(by_rank_[next].cost.plan)).second) ranks.push_back(next + 1);
      }
      time(ranks);
    }
  }

  // Runs neighbours of the fastest program that the model does not predict to be slower; a faster
  // one becomes the next centre. If no new neighbour passes, the model's filter is relaxed.
  void refine() {
    if (options_.refine <= 0 || rules_.chosen.empty()) return;
    constexpr double kAnything = 10;
    const FusionMoves moves(plans_.space());
    std::mt19937_64 random(options_.seed);
    double slower = 0.03;  // predicted slowdown beyond which a neighbour is not run
    while (is_open(1) && slower < kAnything) {
      const std::vector<std::size_t> ranks = neighbours(moves, slower, random);
      if (ranks.size() < options_.batch) slower *= 2;
      time(ranks);
    }
  }

  // Ranks of new neighbours: a batch, or fewer if many tries found nothing new.
  std::vector<std::size_t> neighbours(const FusionMoves& moves, double slower,
                                      std::mt19937_64& random) {
    constexpr int kFruitless = 300;  // consecutive tries
    std::vector<std::size_t> ranks;
    for (int fruitless = 0; ranks.size() < options_.batch && fruitless < kFruitless; ++fruitless) {
      FoundFusion next{at_rank(best_).chosen, {}};
      moves.step(next.chosen, random);
      next.cost = plans_.of(next.chosen);
      if (next.cost.seconds > (1 + slower) * at_rank(best_).cost.seconds) continue;
      if (!seen_.insert(name_of(next.cost.plan)).second) continue;
      fruitless = -1;
      by_rank_.push_back(std::move(next));
      ranks.push_back(by_rank_.size());
    }
    return ranks;
  }

  void time(const std::vector<std::size_t>& ranks) {
    std::vector<HardwareTrial> asked;
    for (const std::size_t rank : ranks) asked.push_back(trial(at_rank(rank)));
    std::vector<HardwareTime> times = trials_.time(asked, reference_);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (times[i].seconds && *times[i].seconds < best_s_) {
        best_s_ = *times[i].seconds;
        best_ = ranks[i];
      }
      tuned_.tried.push_back({ranks[i], at_rank(ranks[i]).cost, std::move(times[i])});
      tuned_.stopped |= !options_.step(tuned_.tried.size(), best_s_);
    }
  }

  // Runs the fastest again together, then the fastest of these with the rules' program.
  void choose() {
    const std::vector<std::size_t> finalists = fastest_ranks(tuned_.tried);
    if (finalists.empty()) return;
    std::vector<HardwareTrial> last = {reference_};
    for (const std::size_t rank : finalists) last.push_back(trial(at_rank(rank)));
    const std::size_t winner = fastest_index(median_of_sittings(trials_, last, "final"));
    if (winner == 0) return;
    const std::size_t rank = finalists[winner - 1];
    const std::vector<HardwareTime> pair =
        median_of_sittings(trials_, {reference_, trial(at_rank(rank))}, "again");
    if (pair[0].seconds) tuned_.by_rules_s = tuned_.chosen_s = *pair[0].seconds;
    if (fastest_index(pair) == 0) return;
    tuned_.chosen = at_rank(rank).chosen;
    tuned_.chosen_rank = rank;
    tuned_.chosen_s = *pair[1].seconds;
  }

  FusionCost& plans_;
  const VerifyOptions& options_;
  std::deque<FoundFusion> by_rank_;  // results of the search, then tried neighbours
  FoundFusion rules_;
  HardwareTrial reference_;
  HardwareTrials trials_;
  TunedFusion tuned_;
  std::unordered_set<std::string> seen_;  // programs tried
  std::size_t best_ = 0;                  // rank of the fastest that ran
  double best_s_ = 0;
};

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

TunedFusion verify_fusions(FusionCost& plans, const FusionSearch& found, Hardware& hardware,
                           const VerifyOptions& options, TuningJournal& journal) {
  return Verifier(plans, found, hardware, options, journal).run();
}

}  // namespace tilecast::search
