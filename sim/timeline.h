// Computes when each kernel of a program runs, with copies and collectives overlapping others.
//
// A list schedule in program order on three lanes, each executing one task at a time. Compute
// kernels are issued in sequence. A kernel on the dma or network lane is issued once all earlier
// compute kernels have ended, and does not delay later kernels; only users of its result wait.
// Hence
//   critical path, work of any lane  <=  makespan  <=  sum of durations:
// every task starts at 0 or when another one ends, so some task is always running.
//
// A task with a multiplicity (loop body) stands for all its launches together: the overlap of one
// iteration is repeated; overlap across iterations is not modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::sim {

enum class Lane : std::uint8_t { kCompute, kDma, kNetwork, kHost };
inline constexpr std::size_t kLaneCount = 4;
[[nodiscard]] std::string_view name(Lane lane);  // "compute", "dma", "network", "host"

struct Task {
  Seconds duration;  // of all launches together, >= 0
  Lane lane = Lane::kCompute;
  std::vector<std::size_t> waits_for;      // earlier tasks, by index
  std::optional<std::size_t> done_before;  // a later task that waits for this one
};

struct Span {
  Seconds start, end;
};

struct Timeline {
  std::vector<Span> spans;  // one per task, same order
  Seconds makespan;         // the end of the last task
};

[[nodiscard]] Timeline schedule(std::span<const Task> tasks);

}  // namespace tilecast::sim
