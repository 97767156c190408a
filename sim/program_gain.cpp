#include "sim/program_gain.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "measured/total_interval.h"

namespace tilecast::sim {
namespace {

struct Launches {
  analytical::Estimate estimate;
  double before = 0, after = 0;
};
// Kernels are distinguished by content and tile.
using LaunchesByKernel = std::map<std::pair<ir::Fingerprint, std::string>, Launches>;

void count(const TimedProgram& timed, const hwdesc::Device& device, double Launches::*side,
           LaunchesByKernel& launches) {
  std::vector<analytical::KernelQuery> queries;
  for (const ir::ScheduledKernel& scheduled : timed.program.kernels()) {
    queries.push_back({scheduled.kernel});
  }
  auto answers = timed.model.estimate(queries, device);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const ir::ScheduledKernel& scheduled = timed.program.kernels()[i];
    if (!answers[i]) {
      throw Error("kernel " + scheduled.kernel.name() + ": no model for it on device " +
                  device.name);
    }
    const auto [at, is_new] = launches.try_emplace(
        {ir::fingerprint(scheduled.kernel), to_string(answers[i]->tile)}, Launches{});
    if (is_new) at->second.estimate = std::move(*answers[i]);
    at->second.*side += scheduled.multiplicity;
  }
}

// Time and interval of the kernels that only one side has.
struct Side {
  double time_s = 0;
  std::vector<measured::LaunchedEstimate> kernels;

  void add(const analytical::Estimate& estimate, double launches) {
    time_s += estimate.time.value * launches;
    kernels.push_back({&estimate, launches});
  }
  // Zero if nothing is known or there are no kernels.
  [[nodiscard]] measured::Interval interval(bool& known) const {
    const auto found = measured::total_interval(kernels);
    known |= found.has_value();
    return found.value_or(measured::Interval{time_s, time_s});
  }
};

}  // namespace

ProgramGain program_gain(const TimedProgram& before, const TimedProgram& after,
                         const hwdesc::Device& device) {
  LaunchesByKernel launches;
  count(before, device, &Launches::before, launches);
  count(after, device, &Launches::after, launches);
  ProgramGain gain;
  Side only_before, only_after;
  for (const auto& [print, times] : launches) {
    gain.before_s += times.estimate.time.value * times.before;
    gain.after_s += times.estimate.time.value * times.after;
    const double fewer = times.before - times.after;
    if (fewer > 0) only_before.add(times.estimate, fewer);
    if (fewer < 0) only_after.add(times.estimate, -fewer);
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
