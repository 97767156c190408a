// Which measured rows contradict the rest, so that nothing is fitted to them. Evidence is other
// rows; that physics errs on a class, however far, is none, since a correction is there for that.
//
//   repeated     the same kernel, tile and time again: counted once
//   disagreeing  equal kernels measured more than twice apart: those away from their median
//   light        a fifth of a class and type, or three rows, is faster than the speed of light
//   unit         a class 20 times off where the other rows are not, or a row 100 times from its
//                class
//   slow         a class, type and kind of bound on one device 2.5 times slower beside physics than
//                on alike devices (a throttled board), or as slow as the rate of another type,
//                while one of the class on the device is as physics says: a mislabelled type
//   regimes      times of a class fall into two groups of which nothing of a kernel tells which:
//                the smaller one (two hosts' dispatch); rows that name no tile or parameters
//
// Compared is log(measured / predicted) of rows of single kernels, dispatch included; rows of
// programs and those that physics cannot answer stay. Deterministic whatever `jobs`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

struct SetApart {
  std::string device, op_class, reason;                // in words
  std::vector<std::pair<std::string, int>> rows = {};  // set, line of its measurements.csv

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
