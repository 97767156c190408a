// Contribution of each resource to the time of a kernel: its Shapley value (Shapley, "A Value for
// n-Person Games", 1953). Starting from a machine on which everything is free, resources are added
// in every order; the value of a resource is the mean growth of the time when it is added:
//
//     value_r = sum over S without r of |S|! (n - |S| - 1)! / n! * (v(S + r) - v(S))
//
// with v(S) the time when only the resources in S take time. Values sum to v(all) - v(none). Two
// resources that are busy at the same time share the time they add, so neither is 0 just because
// the other hides it (compare Estimate::bound, which gives it to the longer one alone). Exact: 2^n
// evaluations for n resources. Pure functions.
#pragma once

#include <functional>
#include <vector>

#include "analytical/accounting.h"

namespace tilecast::analytical {

// v of the players whose bits are set.
using CoalitionValue = std::function<double(std::uint32_t players)>;
// One value per player, at most 20 players. Evaluates each coalition once.
[[nodiscard]] std::vector<double> shapley_values(std::size_t players, const CoalitionValue& value);

// Seconds per resource; they sum to the time. 0 for a resource without work.
[[nodiscard]] PerBound attributed_time(const AccountingOf& account);

}  // namespace tilecast::analytical
