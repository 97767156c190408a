// What a comparison (sim/compare.h) with a profile holds besides times. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::sim {

// What a profile says of a row besides its time; Tilecast's counts (ir/counts/work_counts.h) beside
// the profile's own. Counts are of one launch.
struct ProfileCounts {
  std::string category;  // the profiler's: "convolution fusion"; else the op class
  Seconds median;        // of one launch
  std::optional<double> flops, bytes, profile_flops, profile_bytes;
};

// Runs of one module in a profile, and one run as models predict it, copies beside kernels.
struct ProfileProgram {
  std::size_t group = 0;
  double runs = 0;  // on all cores
  Seconds total, median;
  std::vector<std::optional<Seconds>> predicted;  // by side
};

struct ProfileLeftOver {
  std::string category;
  double events = 0;
  Seconds time;
};

struct ProfileSummary {
  std::string file, device;  // device: as the profile calls it
  std::string guess;         // why this preset; empty where the user chose it
  std::string next;          // the command that calibrates on it
  Seconds device_time;       // of all cores
  Seconds joined;            // of it: instructions of modules that were read
  double steps = 0;
  Seconds step_median;
  std::vector<ProfileProgram> programs;    // most time first
  std::vector<ProfileLeftOver> left_over;  // device time that is not joined; most first
};

}  // namespace tilecast::sim
