#include "sim/fusion_gain.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "measured/total_interval.h"

namespace tilecast::sim {
namespace {

struct Launches {
  std::size_t query = 0;
  double before = 0, after = 0;
};

// Time and interval of one side's own kernels.
struct Side {
  double time_s = 0;
  std::vector<measured::LaunchedEstimate> kernels;

  void add(const analytical::Estimate& estimate, double launches) {
    time_s += estimate.time.value * launches;
    kernels.push_back({&estimate, launches});
  }
  // Zero where nothing is known or there are no kernels.
  [[nodiscard]] measured::Interval interval(bool& known) const {
    const auto found = measured::total_interval(kernels);
    known |= found.has_value();
    return found.value_or(measured::Interval{time_s, time_s});
  }
};

}  // namespace

FusionGain fusion_gain(const ir::Program& before, const ir::Program& after,
                       const hwdesc::Device& device, const analytical::CostModel& model) {
  std::vector<analytical::KernelQuery> queries;
  std::map<ir::Fingerprint, Launches> launches;
  const auto count = [&](const ir::Program& program, double Launches::*side) {
    for (const ir::ScheduledKernel& scheduled : program.kernels()) {
      const auto [at, is_new] =
          launches.try_emplace(ir::fingerprint(scheduled.kernel), Launches{queries.size()});
      if (is_new) queries.push_back({scheduled.kernel});
      at->second.*side += scheduled.multiplicity;
    }
  };
  count(before, &Launches::before);
  count(after, &Launches::after);
  const auto answers = model.estimate(queries, device);
  FusionGain gain;
  Side only_before, only_after;
  for (const auto& [print, times] : launches) {
    const auto& answer = answers[times.query];
    if (!answer) {
      throw Error("kernel " + queries[times.query].kernel.name() + ": no model for it on device " +
                  device.name);
    }
    gain.before_s += answer->time.value * times.before;
    gain.after_s += answer->time.value * times.after;
    if (times.before > times.after) only_before.add(*answer, times.before - times.after);
    if (times.after > times.before) only_after.add(*answer, times.after - times.before);
  }
  bool known = false;
  const measured::Interval from = only_before.interval(known), to = only_after.interval(known);
  if (!known) return gain;
  const double saved = only_before.time_s - only_after.time_s;
  gain.saved_s = measured::Interval{
      saved - std::hypot(only_before.time_s - from.low, to.high - only_after.time_s),
      saved + std::hypot(from.high - only_before.time_s, only_after.time_s - to.low)};
  return gain;
}

}  // namespace tilecast::sim
