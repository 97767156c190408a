#include "search/fusion_search.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_set>
#include <utility>

#include "base/random.h"

namespace tilecast::search {

namespace {

using ir::FusionConfiguration;

// Counts costs and keeps the fastest programs.
class Ledger {
 public:
  Ledger(FusionObjective& objective, const ir::FusionSpace& space,
         const FusionSearchOptions& options)
      : objective_(objective), options_(options) {
    found_.by_rules = objective.of(space.by_rules());
    keep(space.by_rules(), found_.by_rules);
  }

  [[nodiscard]] bool open() const { return !stopped_ && spent_ < 1; }
  // Spent share of the budget, 0 to 1.
  [[nodiscard]] double spent() const { return spent_; }
  void start() { ++found_.starts; }

  double seconds(const FusionConfiguration& chosen) {
    const PlanCost cost = objective_.of(chosen);
    ++found_.costs;
    spent_ = std::max(static_cast<double>(found_.costs) / static_cast<double>(options_.costs),
                      options_.spent());
    keep(chosen, cost);
    stopped_ =
        !options_.step({found_.costs, found_.best.front().cost.seconds, found_.by_rules.seconds});
    return cost.seconds;
  }

  [[nodiscard]] const FoundFusion& best() const { return found_.best.front(); }
  FusionSearch take() { return std::move(found_); }

 private:
  void keep(const FusionConfiguration& chosen, const PlanCost& cost) {
    std::vector<FoundFusion>& best = found_.best;
    if (best.size() == options_.keep && cost.seconds >= best.back().cost.seconds) return;
    if (!kept_.insert(cost.plan[0]).second) return;
    const auto slower = [](const FoundFusion& a, const FoundFusion& b) {
      return a.cost.seconds < b.cost.seconds;
    };
    FoundFusion found{chosen, cost};
    best.insert(std::upper_bound(best.begin(), best.end(), found, slower), std::move(found));
    if (best.size() <= options_.keep) return;
    kept_.erase(best.back().cost.plan[0]);
    best.pop_back();
  }

  FusionObjective& objective_;
  const FusionSearchOptions& options_;
  FusionSearch found_;
  std::unordered_set<std::uint64_t> kept_;
  double spent_ = 0;
  bool stopped_ = false;
};

double uniform(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(random() >> 11), -53);
}

FusionConfiguration first(const ir::FusionSpace& space, bool at_random, std::mt19937_64& random) {
  if (!at_random) return space.by_rules();
  const double share = uniform(random);
  return space.random(share, random());
}

// The temperature at which a share kFirstAccepted of the slower neighbours of `from` would be kept,
// computed from the median of their relative changes.
double first_temperature(Ledger& ledger, const FusionMoves& moves, const FusionConfiguration& from,
                         double from_s, std::size_t probes, std::mt19937_64& random) {
  std::vector<double> slower;
  for (std::size_t i = 0; i < probes && ledger.open(); ++i) {
    FusionConfiguration next = from;
    moves.step(next, random);
    const double change = ledger.seconds(next) / from_s - 1;
    if (change > 0 && std::isfinite(change)) slower.push_back(change);
  }
  if (slower.empty()) return 1e-3;
  const auto middle = slower.begin() + std::ssize(slower) / 2;
  std::nth_element(slower.begin(), middle, slower.end());
  return *middle / -std::log(kFirstAccepted);
}

void anneal(Ledger& ledger, const FusionMoves& moves, FusionConfiguration at,
            const FusionSearchOptions& options, std::mt19937_64& random) {
  constexpr double kStarts = 4;
  constexpr double kLastTemperature = 1e-3;  // share of the first
  constexpr int kMostIdle = 1000;  // consecutive steps without a new program, before giving up
  double at_s = ledger.seconds(at);
  const std::size_t probes = std::clamp<std::size_t>(options.costs / 20, 3, 50);
  const double hottest = first_temperature(ledger, moves, at, at_s, probes, random);
  for (double start = 0; ledger.open(); ++start) {
    ledger.start();
    const double began = ledger.spent();
    // Later starts are cooler, as they begin at good configurations.
    const double warm = hottest * std::pow(0.3, std::fmod(start, kStarts));
    double before = -1;
    for (int idle = 0; ledger.open() && ledger.spent() < began + 1 / kStarts; ++idle) {
      if (idle > kMostIdle) break;
      if (ledger.spent() > before) idle = 0;
      before = ledger.spent();
      const double done = kStarts * (ledger.spent() - began);
      const double temperature = warm * std::pow(kLastTemperature, done);
      FusionConfiguration next = at;
      moves.step(next, random);
      const double next_s = ledger.seconds(next);
      if (next_s > at_s && uniform(random) >= std::exp(-(next_s / at_s - 1) / temperature)) {
        continue;
      }
      at = std::move(next);
      at_s = next_s;
    }
    at = ledger.best().chosen;
    at_s = ledger.best().cost.seconds;
  }
}

void draw_at_random(Ledger& ledger, const ir::FusionSpace& space, std::mt19937_64& random) {
  ledger.start();
  while (ledger.open()) (void)ledger.seconds(first(space, true, random));
}

}  // namespace

FusionSearch search_fusions(FusionCost& cost, const FusionSearchOptions& options) {
  return search_fusions(cost, cost.space(), options);
}

FusionSearch search_fusions(FusionObjective& objective, const ir::FusionSpace& space,
                            const FusionSearchOptions& options) {
  std::mt19937_64 random(options.seed);
  Ledger ledger(objective, space, options);
  if (space.decisions().empty()) return ledger.take();
  FusionConfiguration at = first(space, options.random_start, random);
  if (options.strategy == FusionStrategy::kRandom) {
    draw_at_random(ledger, space, random);
  } else {
    anneal(ledger, FusionMoves(space), std::move(at), options, random);
  }
  return ledger.take();
}

using ir::FusionChoice;

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

}  // namespace tilecast::search
