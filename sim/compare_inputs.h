// Where the rows of a comparison (sim/compare.h) come from: kernels of programs, or rows of
// measurement sets.
//
//   compare(compare_programs({"model.hlo"}, {"sets/profile"}, setup), {.reference = "measured"});
//   compare(compare_sets({"sets/tiles"}, setup));
//
// A measured kernel is a kernel of a program when it computes the same
// (ir/kernels/kernel_fingerprint.h), by preference under the same name; else when a module of the
// same file name calls it so. Of several tiles measured the compiler's counts, else the fastest.
// The compiler's estimate is `window_config.estimated_cycles` at the first device's clock. Throws
// Error for what cannot be read and when there is nothing to compare.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/load_program.h"
#include "sim/compare.h"
#include "sim/evaluation_report.h"

namespace tilecast::sim {

struct CellFilter {
  std::string column, value;  // of measurements.csv
};

struct CompareSetup {
  std::vector<hwdesc::Device> devices;
  std::vector<ModelColumn> columns;  // models on devices, at least one; their names are the sides'
  ir::LoadOptions load = {};
  bool check_physics = true;           // false: measured rows that only physics doubts count
  std::vector<CellFilter> where = {};  // rows of sets that become rows; none: all
  int jobs = 1;
  std::function<void()> step = {};  // called after every file or set on every column; any thread
};

[[nodiscard]] Comparison compare_programs(std::span<const std::string> files,
                                          std::span<const std::string> measured_sets,
                                          const CompareSetup& setup);
[[nodiscard]] Comparison compare_sets(std::span<const std::string> sets, const CompareSetup& setup);

}  // namespace tilecast::sim
