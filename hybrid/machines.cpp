#include "hybrid/machines.h"

#include "base/error.h"

namespace tilecast::hybrid {

std::vector<NearestMachine> nearest_machines(
    const analytical::CostModel& prior, std::span<const analytical::KernelQuery> queries,
    const hwdesc::Device& asked, std::span<const std::optional<analytical::Estimate>> answers,
    std::span<const hwdesc::Device* const> others) {
  TC_CHECK(answers.size() == queries.size(), "an answer per query");
  std::vector<NearestMachine> nearest(queries.size());
  for (std::size_t d = 0; d < others.size(); ++d) {
    hwdesc::Device other = *others[d];
    other.calibration = asked.calibration;
    const auto of_other = prior.estimate(queries, other);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (!answers[i] || !of_other[i]) continue;
      const double distance = machine_distance(*answers[i], *of_other[i]);
      if (distance < nearest[i].distance) nearest[i] = {d, distance};
    }
  }
  return nearest;
}

}  // namespace tilecast::hybrid
