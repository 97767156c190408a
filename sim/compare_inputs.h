// Builds the rows of a comparison (sim/compare.h) from kernels of programs or rows of measurement
// sets.
//
//   compare(compare_programs({"model.hlo"}, {"sets/profile"}, setup), {.reference = "measured"});
//   compare(compare_sets({"sets/tiles"}, setup));
//
// A measured kernel matches a kernel of a program if it computes the same
// (ir/kernels/kernel_fingerprint.h), preferably under the same name; otherwise if a module with the
// same file name has a kernel of that name. If several tiles were measured, the compiler's tile is
// used, else the fastest. The compiler's estimate is `window_config.estimated_cycles` at the first
// device's clock. Throws Error for unreadable input and if there is nothing to compare.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/load_program.h"
#include "measured/importers/xplane.h"
#include "sim/compare.h"
#include "sim/evaluation.h"

namespace tilecast::sim {

struct CellFilter {
  std::string column, value;  // a column of measurements.csv
};

struct CompareSetup {
  std::vector<hwdesc::Device> devices;
  std::vector<ModelColumn> columns;  // models on devices, at least one; each is a side
  ir::LoadOptions load = {};
  bool check_physics = true;           // false: include measured rows that only physics doubts
  std::vector<CellFilter> where = {};  // rows of sets to compare; empty: all
  int jobs = 1;
  std::function<void()> step = {};  // called per file or set and column; on any thread
};

[[nodiscard]] Comparison compare_programs(std::span<const std::string> files,
                                          std::span<const std::string> measured_sets,
                                          const CompareSetup& setup);
[[nodiscard]] Comparison compare_sets(std::span<const std::string> sets, const CompareSetup& setup);

// Compares a profile with predictions, per instruction: rows for compare() (sim/compare.h).
//
//   Comparison c = compare(compare_profile({"run.xplane.pb", profile, {}, why}, setup));
//
// A row is an instruction of a module that ran; its launches are the occurrences on all cores.
// Kernels get the models' times; instructions that are not kernels (loops, waits for copies, issues
// of copies) are predicted to take no time. An asynchronous transfer has its own row, from start to
// done, which overlaps other rows and is in no total. Modules come from the profile and are not
// fused further. Memsets and copies of no instruction have rows without predictions. Time between
// kernels is a row of its own, also in no total.
struct ProfileInput {
  std::string file;
  measured::XplaneProfile profile;
  std::vector<std::string> modules;  // program files that replace modules of the profile
  std::string guess;  // why the first device matches the profile; empty: chosen by the user
};

// Throws Error if no module of the profile can be read.
[[nodiscard]] Comparison compare_profile(const ProfileInput& input, const CompareSetup& setup);

}  // namespace tilecast::sim
