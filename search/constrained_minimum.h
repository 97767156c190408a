// The least of a function in the unit cube under constraints, without derivatives, for functions
// that cost much more to ask than it costs to think about where: a time on a machine.
//
//   Minimum m = constrained_minimum({.levels = {0, 4}, .constraints = 1, .evaluations = 200,
//                                    .evaluate = [&](std::span<const double> x) -> Trial {...}});
//   m.best    // of m.points; nothing: no point was feasible
//
// First half of the evaluations: evolution over the whole cube (NLopt's GN_ISRES: Runarsson and
// Yao, IEEE Trans. SMC C 35(2), 2005). Then linear approximations from the best point (LN_COBYLA:
// Powell, Adv. in Optimization and Numerical Analysis, 1994) over the dimensions without levels,
// those with levels a level up and down while that gains; what is left begins again with another
// seed. Deterministic for a seed. One at a time in a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilecast::search {

struct Trial {
  double value = 0;            // any scale; NaN or infinite: there is no answer here
  std::vector<double> slacks;  // one per constraint, relative: below 0 it is broken
  bool feasible = false;       // may be best
};

struct MinimumOptions {
  // Per dimension: 0 for all of [0, 1], else how many equal steps it has; points are then in the
  // middle of a step.
  std::vector<std::size_t> levels;
  std::size_t constraints = 0;
  std::size_t evaluations = 200;  // at most, each of another point
  std::uint64_t seed = 1;
  std::function<Trial(std::span<const double> point)> evaluate;
  std::function<bool()> stop = {};  // true: what there is is the answer
};

struct Minimum {
  std::optional<std::size_t> best;          // the first of the feasible points with the least value
  std::vector<std::vector<double>> points;  // in the order asked
  std::vector<Trial> trials;                // theirs
};

// Throws what `evaluate` throws.
[[nodiscard]] Minimum constrained_minimum(const MinimumOptions& options);

}  // namespace tilecast::search
