// What a row of a study says of one program on one machine by one model: one list, so that tables,
// formulas and objectives know the same names. Names end in their unit; shares are of 1.
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
  std::function<std::optional<double>(const Simulation&)> value;  // nothing: not known
};

// time_s, timeline_s, host_dispatch_s; low_s, high_s (90 %, of models that learned); energy_J,
// average_power_W (where the device describes energy); peak_memory_bytes, memory_capacity_bytes
// (of main memory); devices (that a program is for), slice_devices, communication_s and
// hidden_communication_s (of programs with collectives); share_BOUND: of time_s, in kernels held up
// by it; share_k_above_half, share_k_up_to_half, share_physics_alone: of time_s, in kernels whose
// correction has a weight k above 0.5, up to it, or 0; skipped_kernels.
[[nodiscard]] const std::vector<StudyResult>& study_results();
[[nodiscard]] std::vector<std::string_view> study_result_names();

// The bound of most of the time.
[[nodiscard]] std::string main_bound(const Simulation& run);

// point, device, program, model, bound, feasible, broken, error: the other columns.
[[nodiscard]] bool is_study_text_column(std::string_view name);

}  // namespace tilecast::sim
