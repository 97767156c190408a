#include "sim/timeline.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace tilecast::sim {

std::string_view name(Lane lane) {
  switch (lane) {
    case Lane::kCompute:
      return "compute";
    case Lane::kDma:
      return "dma";
    case Lane::kNetwork:
      return "network";
    case Lane::kHost:
      return "host";
  }
  return "";
}

Timeline schedule(std::span<const Task> tasks) {
  Timeline timeline;
  timeline.spans.resize(tasks.size());
  std::array<Seconds, kLaneCount> free{};         // end of the tasks issued so far, per lane
  std::vector<Seconds> not_before(tasks.size());  // from done_before edges
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    Seconds& lane_free = free[static_cast<std::size_t>(task.lane)];
    const Seconds issued = free[static_cast<std::size_t>(Lane::kCompute)];
    Seconds start = std::max({issued, lane_free, not_before[i]});
    for (const std::size_t earlier : task.waits_for) {
      TC_CHECK(earlier < i, "a task may only wait for earlier ones");
      start = std::max(start, timeline.spans[earlier].end);
    }
    const Seconds end = start + task.duration;
    timeline.spans[i] = {start, end};
    lane_free = end;
    timeline.makespan = std::max(timeline.makespan, end);
    if (task.done_before && *task.done_before > i && *task.done_before < tasks.size()) {
      not_before[*task.done_before] = std::max(not_before[*task.done_before], end);
    }
  }
  return timeline;
}

}  // namespace tilecast::sim
