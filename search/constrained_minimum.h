// Minimises a function over the unit cube under constraints, without derivatives. For functions
// that are expensive to evaluate, such as a measured time.
//
//   Minimum m = constrained_minimum({.levels = {0, 4}, .constraints = 1, .evaluations = 200,
//                                    .evaluate = [&](std::span<const double> x) -> Trial {...}});
//   m.best    // index into m.points; nullopt: no point was feasible
//
// First half of the evaluations: evolution over the whole cube (NLopt's GN_ISRES: Runarsson and
// Yao, IEEE Trans. SMC C 35(2), 2005). Then linear approximations from the best point (LN_COBYLA:
// Powell, Adv. in Optimization and Numerical Analysis, 1994) over the continuous dimensions, and
// steps of one level up or down in the others while they gain. Remaining evaluations restart with
// another seed. Deterministic for a seed. Not reentrant within a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilecast::search {

struct Trial {
  double value = 0;            // to be minimised, any scale; NaN or infinite: no answer
  std::vector<double> slacks;  // one per constraint, relative; negative: violated
  bool feasible = false;       // whether the point may be chosen as best
};

struct MinimumOptions {
  // Per dimension: 0 if continuous in [0, 1], else the number of equal steps; points are then at
  // the middle of a step.
  std::vector<std::size_t> levels;
  std::size_t constraints = 0;
  std::size_t evaluations = 200;  // maximum number, each of a different point
  std::uint64_t seed = 1;
  std::function<Trial(std::span<const double> point)> evaluate;
  std::function<bool()> stop = {};  // true: stop and return the best so far
};

struct Minimum {
  std::optional<std::size_t> best;          // first feasible point with the least value
  std::vector<std::vector<double>> points;  // in evaluation order
  std::vector<Trial> trials;                // by point
};

// Propagates exceptions of `evaluate`.
[[nodiscard]] Minimum constrained_minimum(const MinimumOptions& options);

}  // namespace tilecast::search
