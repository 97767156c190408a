// What each resource adds to the time of a kernel: Shapley's value (Shapley, "A Value for n-Person
// Games", 1953). Resources are added to a machine on which everything is free, in every order; the
// value of one is the mean of what the time grows by when it comes:
//
//     value_r = sum over S without r of |S|! (n - |S| - 1)! / n! * (v(S + r) - v(S))
//
// with v(S) the time when only the resources of S take any. Values add up to v(all) - v(none); two
// resources that are busy at the same time share what they add together, so none of them is 0 only
// because the other hides it (compare Estimate::bound, which is the longer one's alone).
// Exact: 2^n times for n resources. Pure functions.
#pragma once

#include <functional>
#include <vector>

#include "analytical/accounting.h"

namespace tilecast::analytical {

// v of the players whose bits are set.
using CoalitionValue = std::function<double(std::uint32_t players)>;
// One per player; at most 20 of them. Asks for the value of each coalition once.
[[nodiscard]] std::vector<double> shapley_values(std::size_t players, const CoalitionValue& value);

// Seconds of each resource; they add up to the time. One without work is 0.
[[nodiscard]] PerBound attributed_time(const AccountingOf& account);

}  // namespace tilecast::analytical
