// The result columns of a study, for one program, machine and model: one list, so that tables,
// formulas and objectives use the same names. Names end in their unit; shares are fractions of 1.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulator.h"

namespace tilecast::sim {

struct StudyResult {
  std::string name;
  std::function<std::optional<double>(const Simulation&)> value;  // nullopt: unknown
};

// time_s, timeline_s, host_dispatch_s; low_s, high_s (90 %, for models that learned); energy_J,
// average_power_W (if the device describes energy); peak_memory_bytes, memory_capacity_bytes (main
// memory); devices (that a program is for), slice_devices, communication_s and
// hidden_communication_s (for programs with collectives); share_BOUND: share of time_s in kernels
// with this bound; share_k_above_half, share_k_up_to_half, share_physics_alone: share of time_s in
// kernels with a correction weight k above 0.5, in (0, 0.5], and of 0; skipped_kernels.
[[nodiscard]] const std::vector<StudyResult>& study_results();
[[nodiscard]] std::vector<std::string_view> study_result_names();

// The bound with the largest share of the time.
[[nodiscard]] std::string main_bound(const Simulation& run);

// point, device, program, model, bound, feasible, broken, error: the other columns.
[[nodiscard]] bool is_study_text_column(std::string_view name);

}  // namespace tilecast::sim
