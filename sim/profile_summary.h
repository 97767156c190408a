// The part of a comparison (sim/compare.h) that only profiles have. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::sim {

// The data of a profile for one row other than its time, and Tilecast's counts
// (ir/counts/work_counts.h) next to the profile's. Counts are per launch.
struct ProfileCounts {
  std::string category;  // as in the profile ("convolution fusion"); else the op class
  Seconds median;        // per launch
  std::optional<double> flops, bytes, profile_flops, profile_bytes;
};

// Runs of one module in a profile, and the predicted time of one run, with copies overlapping.
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
  std::string file, device;  // device: the profile's name for it
  std::string guess;         // why this preset; empty if the user chose it
  std::string next;          // command that calibrates the device with this profile
  Seconds device_time;       // of all cores
  Seconds joined;            // the part in instructions of modules that were read
  double steps = 0;
  Seconds step_median;
  std::vector<ProfileProgram> programs;    // most time first
  std::vector<ProfileLeftOver> left_over;  // device time without a row; most first
};

}  // namespace tilecast::sim
