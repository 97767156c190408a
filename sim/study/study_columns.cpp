#include "sim/study/study_columns.h"

#include <algorithm>
#include <array>

#include "sim/program_numbers.h"

namespace tilecast::sim {
namespace {

using analytical::Bound;

constexpr auto kBounds = [] {
  std::array<Bound, analytical::kBoundCount> bounds{};
  for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<Bound>(i);
  return bounds;
}();

std::optional<double> bound_share(const Simulation& run, Bound bound) {
  Seconds held;
  for (const SimulatedKernel& kernel : run.kernels) {
    if (!kernel.skipped && kernel.estimate->bound == bound) held += kernel.total();
  }
  if (run.time.value <= 0) return 0.0;
  return held / run.time;
}

std::optional<double> belief_share(const Simulation& run, BeliefShare BeliefShares::*of) {
  const auto shares = belief_shares(run);
  if (!shares || run.time.value <= 0) return std::nullopt;
  return ((*shares).*of).time / run.time;
}

void add_communication(std::vector<StudyResult>& results) {
  results.push_back({"devices", [](const Simulation& run) {
                       const auto devices = static_cast<double>(run.devices);
                       return devices > 1 ? std::optional(devices) : std::nullopt;
                     }});
  results.push_back({"slice_devices", [](const Simulation& run) { return run.slice_devices; }});
  const auto add = [&results](const char* name, Seconds Communication::*of) {
    results.push_back({name, [of](const Simulation& run) {
                         return run.communication ? std::optional(((*run.communication).*of).value)
                                                  : std::nullopt;
                       }});
  };
  add("communication_s", &Communication::time);
  add("hidden_communication_s", &Communication::hidden);
}

std::vector<StudyResult> all_results() {
  std::vector<StudyResult> results = {
      {"time_s", [](const Simulation& run) { return run.time.value; }},
      {"timeline_s", [](const Simulation& run) { return run.timeline.value; }},
      {"host_dispatch_s", [](const Simulation& run) { return run.host_dispatch.value; }},
      {"low_s",
       [](const Simulation& run) {
         return run.interval ? std::optional(run.interval->low) : std::nullopt;
       }},
      {"high_s",
       [](const Simulation& run) {
         return run.interval ? std::optional(run.interval->high) : std::nullopt;
       }},
  };
  add_communication(results);
  for (const auto& numbers : {energy_numbers(), memory_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      results.push_back({std::string(number.name), number.of});
    }
  }
  for (const Bound bound : kBounds) {
    results.push_back({"share_" + std::string(analytical::name(bound)),
                       [bound](const Simulation& run) { return bound_share(run, bound); }});
  }
  const auto add_belief = [&results](const char* name, BeliefShare BeliefShares::*of) {
    results.push_back({name, [of](const Simulation& run) { return belief_share(run, of); }});
  };
  add_belief("share_k_above_half", &BeliefShares::most);
  add_belief("share_k_up_to_half", &BeliefShares::some);
  add_belief("share_physics_alone", &BeliefShares::none);
  results.push_back({"skipped_kernels", [](const Simulation& run) {
                       return static_cast<double>(
                           std::ranges::count_if(run.kernels, &SimulatedKernel::skipped));
                     }});
  return results;
}

}  // namespace

const std::vector<StudyResult>& study_results() {
  static const std::vector<StudyResult> results = all_results();
  return results;
}

std::vector<std::string_view> study_result_names() {
  std::vector<std::string_view> names;
  for (const StudyResult& result : study_results()) names.push_back(result.name);
  return names;
}

std::string main_bound(const Simulation& run) {
  const auto most =
      std::ranges::max_element(kBounds, {}, [&](Bound bound) { return *bound_share(run, bound); });
  return std::string(analytical::name(*most));
}

bool is_study_text_column(std::string_view name) {
  constexpr std::string_view kNames[] = {"point", "device",   "program", "model",
                                         "bound", "feasible", "broken",  "error"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace tilecast::sim
