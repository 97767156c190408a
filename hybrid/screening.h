// Finds measured rows that contradict the rest, so that nothing is fitted to them. The evidence is
// always other rows, never a large error of physics on a class: corrections exist for that.
//
//   repeated     the same kernel, tile and time again: kept once
//   disagreeing  equal kernels measured more than twice apart: those away from their median
//   light        rows faster than the speed of light; if these are a fifth of a class and type,
//                and at least three, all of its rows
//   unit         a class 20 times off where the other rows are not, or a row 100 times from its
//                class
//   slow         a class, type and kind of bound on one device that is, against physics, 2.5 times
//                slower than on alike devices (a throttled board), or as slow as the rate of
//                another type while that type agrees with physics on the device (a mislabelled
//                type)
//   regimes      times of a class fall into two groups that no feature of a kernel explains:
//                the smaller group (two hosts' dispatch); only rows without tile or parameters
//
// The compared quantity is log(measured / predicted) of rows of single kernels, dispatch included.
// Rows of programs and rows without an analytical estimate are kept. Deterministic, whatever
// `jobs`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

struct SetApart {
  std::string device, op_class, reason;                // reason: a phrase for messages
  std::vector<std::pair<std::string, int>> rows = {};  // set, line in measurements.csv

  // "p4 matmul: 12 rows set apart (set ops, lines 3, 4, 5, 9, ...): REASON".
  [[nodiscard]] std::string text() const;
};

struct Screened {
  std::vector<measured::SampleSet> sets;  // without the rows set apart; may be empty
  std::vector<SetApart> apart;
};

// `devices`: one per set.
[[nodiscard]] Screened screen(const analytical::CostModel& prior,
                              std::span<const measured::SampleSet> sets,
                              std::span<const hwdesc::Device> devices, int jobs);

}  // namespace tilecast::hybrid
