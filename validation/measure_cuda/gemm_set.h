// Writes measured products as a measurement set (measured/measurement_set.h).
//
// One row per size and block: its tile, stages and warps. not_timed.csv lists configurations that
// were not timed, with the reason.
#pragma once

#include <string>
#include <vector>

#include "validation/measure_cuda/gemm_config.h"
#include "validation/measure_cuda/gemm_runner.h"

namespace tilecast::measure_cuda {

struct GemmMeasurement {
  GemmSize size;
  Input input = Input::kF16;
  GemmConfig config;
  GemmOutcome outcome;
};

struct SetDescription {
  std::string name;
  std::string device;  // preset or path of a description
  Card card;
  TimingOptions timing;
  std::string date;  // "2026-01-31"
  bool cut_short = false;
};

// The preset for the card's name, from a table with the columns card, device. Throws Error if the
// table has no such card, with a hint how to specify a device.
[[nodiscard]] std::string device_of_card(const std::string& card, const std::string& table_path);

// Writes the folder; throws Error if `target` exists, unless `force`.
void write_gemm_set(const std::string& target, bool force, const SetDescription& description,
                    const std::vector<GemmMeasurement>& measurements);

}  // namespace tilecast::measure_cuda
