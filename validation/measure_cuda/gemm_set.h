// Measured products as a measurement set (measured/measurement_set.h).
//
// A row per size and block: its tile, stages and warps. not_timed.csv beside them holds what was
// not timed, with why.
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

// The preset of the card's name in a table with the columns card, device. Throws Error where the
// table does not have it, saying how to give one.
[[nodiscard]] std::string device_of_card(const std::string& card, const std::string& table_path);

// Writes the directory; an Error where `target` is taken, unless `force`.
void write_gemm_set(const std::string& target, bool force, const SetDescription& description,
                    const std::vector<GemmMeasurement>& measurements);

}  // namespace tilecast::measure_cuda
