// Compares a profile with predictions, per instruction: rows for compare() (sim/compare.h).
//
//   Comparison c = compare(compare_profile({"run.xplane.pb", profile, {}, why}, setup));
//
// A row is an instruction of a module that ran; its launches are the occurrences on all cores.
// Kernels get the models' times; instructions that are not kernels (loops, waits for copies, issues
// of copies) are predicted to take no time. An asynchronous transfer has its own row, from start to
// done, which overlaps other rows and is in no total. Modules come from the profile and are not
// fused further. Time between kernels is a row of its own, also in no total.
#pragma once

#include "measured/importers/xplane.h"
#include "sim/compare_inputs.h"

namespace tilecast::sim {

struct ProfileInput {
  std::string file;
  measured::XplaneProfile profile;
  std::vector<std::string> modules;  // program files that replace modules of the profile
  std::string guess;  // why the first device matches the profile; empty: chosen by the user
};

// Throws Error if no module of the profile can be read.
[[nodiscard]] Comparison compare_profile(const ProfileInput& input, const CompareSetup& setup);

}  // namespace tilecast::sim
