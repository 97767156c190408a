// A profile beside predictions, instruction by instruction: rows for compare() (sim/compare.h).
//
//   Comparison c = compare(compare_profile({"run.xplane.pb", profile, {}, why}, setup));
//
// A row is an instruction of a module that ran, its launches the occurrences on all cores. Kernels
// have the models' times; instructions that are no kernels (loops, waits for copies, the issue of
// one) are predicted to take none. An asynchronous transfer is a row of its own, from start to
// done, which overlaps the others: part of no total. Modules come from the profile and are taken as
// they ran: nothing is fused.
#pragma once

#include "measured/importers/xplane.h"
#include "sim/compare_inputs.h"

namespace tilecast::sim {

struct ProfileInput {
  std::string file;
  measured::XplaneProfile profile;
  std::vector<std::string> modules;  // files of programs that ran, for those of the profile
  std::string guess;  // why the first device was taken for the profile's; empty: the user chose it
};

// Throws Error when no module of the profile can be read.
[[nodiscard]] Comparison compare_profile(const ProfileInput& input, const CompareSetup& setup);

}  // namespace tilecast::sim
