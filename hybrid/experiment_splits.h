// Which rows of an experiment are fitted and which scored, round by round.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hybrid/experiment.h"
#include "learned/splits.h"

namespace tilecast::hybrid {

// A sample of one of the experiment's sets.
struct ExperimentRow {
  std::size_t set = 0, sample = 0;
};

struct NamedSplit {
  std::string name;
  learned::Split split;  // indices into the experiment's rows
};

// All samples of all sets, one set after the other.
[[nodiscard]] std::vector<ExperimentRow> rows_of(std::span<const learned::SampleSet> sets);

// `names`: of the sources, by set. Throws Error for selectors that name no row and for splits that
// leave nothing to score, or nothing to fit.
[[nodiscard]] std::vector<NamedSplit> experiment_splits(const Experiment& experiment,
                                                        std::span<const learned::SampleSet> sets,
                                                        std::span<const std::string> names);

// Throws Error where a row is both fitted and scored, or, with `by_kernel`, where equal work is.
void require_disjoint(const learned::Split& split, std::span<const learned::SampleSet> sets,
                      bool by_kernel, const std::string& where);

}  // namespace tilecast::hybrid
