// Machines that were never measured, beside those that were: whether physics can tell them apart
// for a kernel. Internal to the hybrid.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "analytical/cost_model.h"
#include "hybrid/work.h"

namespace tilecast::hybrid {

struct NearestMachine {
  std::size_t device = 0;                                     // of those compared
  double distance = std::numeric_limits<double>::infinity();  // machine_distance()
};

// By query. `answers`: the prior's on `asked`. The others are compared with the constants of
// `asked`: as machines, not as they were calibrated. A query that one of both cannot answer keeps
// an infinite distance.
[[nodiscard]] std::vector<NearestMachine> nearest_machines(
    const analytical::CostModel& prior, std::span<const analytical::KernelQuery> queries,
    const hwdesc::Device& asked, std::span<const std::optional<analytical::Estimate>> answers,
    std::span<const hwdesc::Device* const> others);

}  // namespace tilecast::hybrid
