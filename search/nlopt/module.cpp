// Implements search/constrained_minimum.h.
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <nlopt.hpp>

#include "base/error.h"
#include "search/nlopt/abi.h"

namespace tilecast::search {
namespace {

using Point = std::vector<double>;

// Margin that keeps feasible points feasible at an active constraint despite rounding.
constexpr double kMargin = 1e-7;
constexpr double kBroken = -1;  // slack of a point without a value

class MinimumSearch {
 public:
  explicit MinimumSearch(const MinimumOptions& options) : options_(options) {
    for (std::size_t i = 0; i < options.levels.size(); ++i) {
      (options.levels[i] == 0 ? free_ : stepped_).push_back(i);
    }
  }

  Minimum run() {
    TC_CHECK(!options_.levels.empty() && options_.evaluations > 0, "there is something to search");
    static_cast<void>(trial(Point(options_.levels.size(), 0.5)));
    for (std::uint64_t round = 0; !ended(); ++round) {
      const std::size_t before = found_.points.size();
      explore(options_.seed + round);
      polish();
      if (found_.points.size() == before) break;  // every point was evaluated already
    }
    if (failure_) std::rethrow_exception(failure_);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t left() const { return options_.evaluations - found_.points.size(); }
  [[nodiscard]] bool ended() const {
    return failure_ || left() == 0 || (options_.stop && options_.stop());
  }

  [[nodiscard]] Point snapped(Point point) const {
    for (const std::size_t i : stepped_) {
      const auto levels = static_cast<double>(options_.levels[i]);
      const double level = std::min(std::floor(point[i] * levels), levels - 1);
      point[i] = (level + 0.5) / levels;
    }
    return point;
  }

  // Evaluates a point, or returns the remembered trial. Stops the algorithm at its limit.
  const Trial& trial(const Point& asked) {
    const Point point = snapped(asked);
    if (const auto at = known_.find(point); at != known_.end()) {
      constexpr std::size_t kMostRepeats = 20'000;  // consecutive repeated points to stop at
      if (++repeats_ > kMostRepeats) throw nlopt::forced_stop();
      return found_.trials[at->second];
    }
    if (ended() || found_.points.size() >= limit_) throw nlopt::forced_stop();
    repeats_ = 0;
    Trial answer = options_.evaluate(point);
    TC_CHECK(answer.slacks.size() == options_.constraints, "a slack per constraint");
    const bool answered = std::isfinite(answer.value);
    answer.feasible = answer.feasible && answered;
    known_[point] = found_.points.size();
    found_.points.push_back(point);
    found_.trials.push_back(std::move(answer));
    const Trial& now = found_.trials.back();
    if (answered) {
      if (scale_ == 0) scale_ = std::abs(now.value);
      worst_ = std::max(worst_, now.value);
    }
    if (now.feasible && (!found_.best || now.value < found_.trials[*found_.best].value)) {
      found_.best = found_.trials.size() - 1;
    }
    return now;
  }

  // The objective for the algorithms: of order 1, finite everywhere.
  [[nodiscard]] double seen(const Trial& trial) const {
    const double scale = scale_ > 0 ? scale_ : 1;
    if (std::isfinite(trial.value)) return trial.value / scale;
    const double worst = std::isfinite(worst_) ? worst_ / scale : 0;
    return worst + std::abs(worst) + 1;
  }
  [[nodiscard]] static double seen_excess(const Trial& trial, std::size_t constraint) {
    const double slack = trial.slacks[constraint];
    if (!std::isfinite(trial.value) || std::isnan(slack)) return -kBroken;
    return kMargin - std::clamp(slack, -1e6, 1e6);
  }

  // One run of an algorithm over some dimensions; the others stay as in `base`.
  struct Part {
    MinimumSearch& search;
    Point base;
    std::vector<std::size_t> dimensions;
    [[nodiscard]] Point at(std::span<const double> values) const {
      Point point = base;
      for (std::size_t i = 0; i < dimensions.size(); ++i) point[dimensions[i]] = values[i];
      return point;
    }
  };
  struct PartConstraint {
    Part* part;
    std::size_t index;
  };

  // Stores exceptions, since they must not propagate through NLopt's C code.
  template <class Body>
  double guarded(const Body& body) {
    try {
      return body();
    } catch (const nlopt::forced_stop&) {
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      throw nlopt::forced_stop();
    }
  }
  static double value_seen(const Point& values, Point&, void* data) {
    auto& part = *static_cast<Part*>(data);
    return part.search.guarded(
        [&] { return part.search.seen(part.search.trial(part.at(values))); });
  }
  static double excess_seen(const Point& values, Point&, void* data) {
    const auto& constraint = *static_cast<PartConstraint*>(data);
    MinimumSearch& search = constraint.part->search;
    return search.guarded(
        [&] { return seen_excess(search.trial(constraint.part->at(values)), constraint.index); });
  }

  // Evaluates at most `evaluations` new points.
  void run_part(nlopt::algorithm algorithm, Part part, std::size_t evaluations,
                const std::function<void(nlopt::opt&)>& set) {
    limit_ = found_.points.size() + std::min(evaluations, left());
    repeats_ = 0;
    nlopt::opt opt(algorithm, static_cast<unsigned>(part.dimensions.size()));
    opt.set_lower_bounds(0);
    opt.set_upper_bounds(1);
    opt.set_min_objective(value_seen, &part);
    std::vector<PartConstraint> constraints;
    for (std::size_t i = 0; i < options_.constraints; ++i) constraints.push_back({&part, i});
    for (PartConstraint& constraint : constraints) {
      opt.add_inequality_constraint(excess_seen, &constraint, 0);
    }
    set(opt);
    Point values;
    for (const std::size_t i : part.dimensions) values.push_back(part.base[i]);
    double least = 0;
    try {
      opt.optimize(values, least);
    } catch (const nlopt::forced_stop&) {
      return;  // limit of evaluations reached
    } catch (const nlopt::roundoff_limited&) {
      return;  // converged to rounding
    } catch (const std::runtime_error&) {
      return;  // "nlopt failure": evaluated points are kept
    }
  }

  void explore(std::uint64_t seed) {
    nlopt::srand(static_cast<unsigned long>(seed));
    std::vector<std::size_t> all(options_.levels.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const auto population = static_cast<unsigned>(8 * (all.size() + 1));
    run_part(nlopt::GN_ISRES, {*this, start(), all}, (left() + 1) / 2, [&](nlopt::opt& opt) {
      opt.set_population(population);
      opt.set_maxeval(static_cast<int>(std::min<std::size_t>(50 * options_.evaluations, 1 << 30)));
    });
  }

  // The best point; if there is none, the one with the smallest violation.
  [[nodiscard]] Point start() const {
    if (found_.best) return found_.points[*found_.best];
    const auto least = [](const Trial& trial) {
      double slack = std::isfinite(trial.value) ? 0.0 : -std::numeric_limits<double>::infinity();
      for (const double each : trial.slacks) slack += std::min(std::isnan(each) ? -1 : each, 0.0);
      return slack;
    };
    const auto at = std::ranges::max_element(found_.trials, {}, least) - found_.trials.begin();
    return found_.points[static_cast<std::size_t>(at)];
  }

  void approximate(const Point& from, std::size_t evaluations, double step) {
    if (free_.empty() || ended()) return;
    run_part(nlopt::LN_COBYLA, {*this, from, free_}, evaluations, [&](nlopt::opt& opt) {
      opt.set_initial_step(step);
      opt.set_xtol_abs(1e-8);
      opt.set_maxeval(100'000);
    });
  }

  // Improves the best point until neither a step of a level nor the free dimensions gain.
  void polish() {
    constexpr double kFar = 0.1, kNear = 0.02;
    const std::size_t few = 8 * (free_.size() + 1);
    std::optional<std::size_t> before;
    approximate(start(), left(), kFar);
    while (!ended() && found_.best && before != found_.best) {
      before = found_.best;
      const Point from = found_.points[*found_.best];
      for (const std::size_t i : stepped_) {
        for (const double direction : {-1.0, 1.0}) {
          Point next = from;
          next[i] += direction / static_cast<double>(options_.levels[i]);
          if (next[i] < 0 || next[i] > 1 || ended()) continue;
          limit_ = options_.evaluations;
          repeats_ = 0;
          static_cast<void>(trial(next));
          approximate(next, few, kFar);
        }
      }
      if (before != found_.best) approximate(start(), left(), kNear);
    }
  }

  const MinimumOptions& options_;
  std::vector<std::size_t> free_, stepped_;  // dimensions without and with levels
  Minimum found_;
  std::map<Point, std::size_t> known_;
  std::size_t limit_ = std::numeric_limits<std::size_t>::max();  // maximum points in this part
  std::size_t repeats_ = 0;
  double scale_ = 0, worst_ = -std::numeric_limits<double>::infinity();
  std::exception_ptr failure_;
};

Minimum search_minimum(const MinimumOptions& options) {
  return MinimumSearch(options).run();
}

}  // namespace
}  // namespace tilecast::search

TILECAST_PLUGIN(nlopt, tilecast::search::kNloptModuleAbi, &tilecast::search::search_minimum)
