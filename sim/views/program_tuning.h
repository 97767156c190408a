// The result of a search over the tiles of a program, as text and JSON (schema
// tilecast.tune_program/1, SI units). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/tile_tuner.h"
#include "sim/program_gain.h"

namespace tilecast::sim::views {

struct ProgramTuning {
  std::string program, file, device;
  std::string model, ranks;  // model: of times; ranks: orders tiles
  std::string listing;       // "ladder", "all"
  std::string fusions;       // how the program was fused
  std::size_t top = 0;
  bool exhaustive = false;
  std::vector<search::KernelTiles> kernels;
  ProgramGain gain;  // of the tiles ranked first, by the model
  std::optional<search::TunedTiles> tuned;
};
[[nodiscard]] std::string program_tuning_text(const ProgramTuning& tuning);
[[nodiscard]] std::string program_tuning_json(const ProgramTuning& tuning);
// "saves 3.10 % [1.20, 5.00] (90 %)", or the reason why not.
[[nodiscard]] std::string gain_text(const ProgramGain& gain);

}  // namespace tilecast::sim::views
