// Errors of trials: what a weight makes of them, how they scatter, what rank holds them. Internal
// to trust_fit.cpp. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "hybrid/trust.h"

namespace tilecast::hybrid {

// Log error of the row's whole time, of which the prior's kernel is Trial::share: measured and
// predicted kernel with the same dispatch on top.
[[nodiscard]] double error_of(const Trial& trial, double weight);

struct Counted {
  const Trial* trial = nullptr;
  double share = 1;  // how much the trial says
};
struct Allowed {
  double cap = 1;
  bool safe = false;  // groups are whole kinds or devices: what the next one gains counts, not
                      // the mean, and none may lose more than 1 %
};
// Of {0, 0.05 ... 1}: the one with the most gain less a standard error (hybrid/trust.h).
[[nodiscard]] double best_weight(std::span<const Counted> trials, const Allowed& allowed);

// Errors by group, for the analysis of variance.
struct Labelled {
  double error = 0;
  std::uint32_t group = 0;
};
struct Spread {
  double within = 0, between = 0;  // mean squares
  double typical = 1;              // rows of a group, as the estimator weighs them
  double rows = 0, groups = 0;
  double squared_sizes = 0;
};
[[nodiscard]] Spread spread_of(std::span<const Labelled> points);
// Donner (1986). 0 where no group has two rows.
[[nodiscard]] double intraclass(const Spread& spread);
[[nodiscard]] double effective_number(const Spread& spread);
// What a 90 % interval of pooled rows must be multiplied by to hold 90 % of a new group's, whose
// mean is known by those of few groups: the prediction interval of a random-effects model (Higgins,
// Thompson and Spiegelhalter, J. R. Stat. Soc. A 172, 2009) over the normal one. 2 groups at least.
[[nodiscard]] double new_group_factor(const Spread& spread);

// The value of rank ceil((n + 1) percent / 100) of n; of more values than n, at that share of them.
[[nodiscard]] double ranked(std::vector<double> values, std::size_t n, std::size_t percent);

}  // namespace tilecast::hybrid
