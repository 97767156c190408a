// The result of a search for the fastest tile, and a comparison of searches, as text and JSON
// (schemas tilecast.tune/1 and tilecast.tune_compare/1, SI units). Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/tuner.h"

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

}  // namespace tilecast::sim::views
