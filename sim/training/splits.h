// Assigns rows to the fitted and the scored side, per round.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measured/splits.h"
#include "sim/training/rows.h"

namespace tilecast::sim::training {

struct NamedSplit {
  std::string name;
  measured::Split split;  // indices into rows_of()
};

// `names`: of the sources, by set. Throws Error for selectors that match no row and for splits
// without rows to score or without rows to fit.
[[nodiscard]] std::vector<NamedSplit> deal_rows(const TrainingFile& file,
                                                std::span<const measured::SampleSet> sets,
                                                std::span<const std::string> names);

// What must not be on both sides: a row, equal work on one device, equal work.
enum class Apart { kRows, kWorksOnDevice, kWorks };
[[nodiscard]] Apart apart(SplitKind kind);

// Throws Error if `split` violates it.
void require_disjoint(const measured::Split& split, std::span<const measured::SampleSet> sets,
                      Apart apart, const std::string& where);

}  // namespace tilecast::sim::training
