// Summary statistics of a growing set (measure_set.h): coverage, skipped items, repeatability.
//
//   SetSummary summary = summarise("my_machine");
//   Repeatability again = repeatability("my_machine", "my_machine_again");
//
// Reads only the tables, no kernels. Throws Error if they are missing. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::host {

struct ClassSummary {
  std::string set, op_class;
  std::size_t kernels = 0, rows = 0;
  std::size_t at_least_5us = 0;           // rows
  std::size_t ranked = 0;                 // kernels with at least two tiles
  std::optional<double> worst_over_best;  // median of slowest / fastest tile over ranked kernels
};

struct SkipSummary {
  std::string set, reason;
  std::size_t kernels = 0, rows = 0;  // rows: (kernel, tile) pairs
  std::string example;                // the most frequent detail
};

struct SetSummary {
  std::vector<ClassSummary> classes;  // by set, then class
  std::vector<SkipSummary> skipped;   // by set, then reason
  std::size_t kernels = 0, rows = 0;  // measured, over all sets
};
[[nodiscard]] SetSummary summarise(const std::string& directory);

// Summary of a set of labels (measure_labels.h).
struct QuantitySummary {
  std::string name, unit;
  std::size_t rows = 0, distinct = 0;  // rows with a value; distinct values
  double least = 0, median = 0, most = 0;
};
struct LabelSummary {
  std::vector<QuantitySummary> quantities;  // in the manifest's order
  std::vector<SkipSummary> skipped;
  std::size_t kernels = 0, rows = 0;
};
[[nodiscard]] LabelSummary summarise_labels(const std::string& directory);

// Two measurements of the same (kernel, tile) pairs. Differences are second / first - 1.
struct Repeatability {
  std::size_t pairs = 0, kernels = 0;
  std::optional<double> median, p90;  // of |difference|
  std::optional<double> shift;        // median of the difference, with its sign
  std::size_t ranked = 0;             // kernels with at least two tiles in both
  std::optional<double> tau;          // mean Kendall tau-b within ranked kernels
};
[[nodiscard]] Repeatability repeatability(const std::string& first, const std::string& second);

}  // namespace tilecast::host
