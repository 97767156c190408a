// All metrics of one model on given rows, with intervals: the cell of an evaluation's table.
#pragma once

#include <span>
#include <vector>

#include "measured/evaluation.h"

namespace tilecast::measured {

// The scored rows of one stratum as every column sees them: same rows, same order.
struct StratumRows {
  std::vector<std::size_t> rows;                   // into ScoreSheet::rows
  std::vector<std::size_t> work_of;                // per row: dense numbers
  std::size_t works = 0;                           // how many of them
  std::vector<std::vector<std::size_t>> rankings;  // kernels with >= 2 tiles: into `rows`
  std::size_t rankings_without_fastest = 0;        // Stratum::kernels_without_fastest
};

// Resamples whole works where there are several, else rows; the same draws for every column.
[[nodiscard]] Scores score(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column,
                           const BootstrapOptions& options);

}  // namespace tilecast::measured
