// Which rows of an experiment are fitted and which scored, round by round.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measured/splits.h"
#include "validation/experiment.h"

namespace tilecast::validation {

// A sample of one of the experiment's sets.
struct ExperimentRow {
  std::size_t set = 0, sample = 0;
};

struct NamedSplit {
  std::string name;
  measured::Split split;  // indices into the experiment's rows
};

// All samples of all sets, one set after the other.
[[nodiscard]] std::vector<ExperimentRow> rows_of(std::span<const measured::SampleSet> sets);

// `names`: of the sources, by set. Throws Error for selectors that name no row and for splits that
// leave nothing to score, or nothing to fit.
[[nodiscard]] std::vector<NamedSplit> experiment_splits(const Experiment& experiment,
                                                        std::span<const measured::SampleSet> sets,
                                                        std::span<const std::string> names);

// What may not be both fitted and scored: a row, equal work on one device, equal work.
enum class Apart { kRows, kWorksOnDevice, kWorks };
[[nodiscard]] Apart apart(SplitKind kind);

// Throws Error where it is.
void require_disjoint(const measured::Split& split, std::span<const measured::SampleSet> sets,
                      Apart apart, const std::string& where);

}  // namespace tilecast::validation
