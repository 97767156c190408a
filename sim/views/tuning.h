// The result of a search for the fastest tile, and a comparison of searches, as text and JSON
// (schemas tilecast.tune/1 and tilecast.tune_compare/1, SI units). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/fusion_tuner.h"
#include "search/tile_tuner.h"
#include "search/tuner.h"
#include "sim/program_gain.h"

namespace tilecast::sim::views {

struct TuningReport {
  std::string kernel, device, model, strategy;
  std::size_t candidates = 0, answered = 0;  // answered: with an estimate of the model
  std::vector<std::string> tiles;            // by candidate, as text
  search::TuneResult result;
};
[[nodiscard]] std::string tuning_text(const TuningReport& report);
[[nodiscard]] std::string tuning_json(const TuningReport& report);

struct TuneComparison {
  std::string kernel, device, model;
  std::size_t kernels = 1;  // if > 1: sums of tiles, means over kernels
  std::size_t candidates = 0, answered = 0, batch = 0, seeds = 0;
  double fastest_s = 0;
  std::size_t within_5_percent = 0;  // candidates within 5 % of the fastest
  std::vector<search::ComparedStrategy> strategies;
};
[[nodiscard]] std::string comparison_text(const TuneComparison& comparison);
[[nodiscard]] std::string comparison_json(const TuneComparison& comparison);

// The result of a search over the tiles of a program, as text and JSON (schema
// tilecast.tune_program/1, SI units). Pure.
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

// The result of a search over fusions, as text and JSON (schema tilecast.tune_fusion/1, SI units).
// Pure.
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
