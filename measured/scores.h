// Computes all metrics of one model on given rows, with intervals: one cell of an evaluation's
// table.
#pragma once

#include <span>
#include <vector>

#include "measured/evaluation.h"

namespace tilecast::measured {

// The scored rows of one stratum, the same for every column.
struct StratumRows {
  std::vector<std::size_t> rows;                   // into ScoreSheet::rows
  std::vector<std::size_t> work_of;                // per row: number of its work, 0 to works - 1
  std::size_t works = 0;                           // number of works
  std::vector<std::vector<std::size_t>> rankings;  // kernels with >= 2 tiles: into `rows`
  std::size_t rankings_without_fastest = 0;        // Stratum::kernels_without_fastest
};

// Bootstraps over works if there are several, else over rows, with the same draws for every column.
[[nodiscard]] Scores score(const ScoreSheet& sheet, const StratumRows& stratum, std::size_t column,
                           const BootstrapOptions& options);

}  // namespace tilecast::measured
