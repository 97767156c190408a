// The result of a search over fusions, as text and JSON (schema tilecast.tune_fusion/1, SI units).
// Pure.
#pragma once

#include <optional>
#include <string>

#include "search/fusion_tuner.h"
#include "sim/program_gain.h"

namespace tilecast::sim::views {

struct FusionTuning {
  std::string program, file, device, model, strategy, start;
  std::string asked_of = "model";  // or "hardware"
  std::uint64_t seed = 1;
  std::size_t runs = 1, decisions = 0, asked = 0;  // asked: kernels the model estimated
  search::FusionSearch search;
  ProgramGain gain;                          // of the best by the model
  std::optional<search::TunedFusion> tuned;  // result on hardware
};
[[nodiscard]] std::string fusion_tuning_text(const FusionTuning& tuning);
[[nodiscard]] std::string fusion_tuning_json(const FusionTuning& tuning);

}  // namespace tilecast::sim::views
