// Is a program as long as its kernels together? Whole programs timed beside their parts.
//
//   measure_additivity(whole_programs(program, device), device, this_machine(), {},
//                      [&](const ProgramTimes& row) { rows.push_back(row); return true; });
//   summarise(rows, CacheState::kCold, Sum::kPlaced)->median;
//
// A program and its kernels run from the same library, cold (a call's inputs come from main memory)
// and warm (the same arrays every time). Kernels timed alone are all cold or all warm; in a program
// each finds what those before it left in the caches. So there are two sums: of times alone in the
// program's own state, and "placed": each kernel between its warm and its cold time by the share of
// its bytes that the last-level cache no longer holds (c_program_reuse.h). Not thread-safe (forks).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/measure.h"
#include "host/workloads.h"
#include "hwdesc/device.h"

namespace tilecast::host {

struct StateTimes {
  Timing whole;   // of the program
  Seconds alone;  // sum over calls: minimum of the kernel alone in this state
  Seconds placed;
};

struct ProgramTimes {
  std::string program;                    // "mlp_train.c17"
  std::size_t kernels = 0, distinct = 0;  // calls, and functions among them
  StateTimes cold, warm;
  std::size_t unstable = 0;  // timings that never agreed; their best attempt counts
  std::string skipped;       // why there are no times: "unsupported: sort is not generated"

  [[nodiscard]] const StateTimes& in(CacheState state) const {
    return state == CacheState::kCold ? cold : warm;
  }
};

enum class Sum { kAlone, kPlaced };
// Sum / whole program - 1; of rows that have times.
[[nodiscard]] double error(const ProgramTimes& row, CacheState state, Sum sum);

// One row per program, in their order; `done` returning false stops. `timing.state` is not used.
void measure_additivity(std::span<const ProgramVariant> programs, const hwdesc::Device& device,
                        const Bench& bench, const TimingOptions& timing,
                        const std::function<bool(const ProgramTimes&)>& done);

// "mlp_train" of "mlp_train.c17": what was cut.
[[nodiscard]] std::string family_of(const std::string& variant);

// Over rows that have times.
struct AdditivitySummary {
  std::size_t programs = 0;
  double median = 0, p90 = 0;  // of |error|
  double bias = 0;             // exp(mean log(sum / whole)) - 1
};
[[nodiscard]] std::optional<AdditivitySummary> summarise(std::span<const ProgramTimes> rows,
                                                         CacheState state, Sum sum);

// additivity.csv: every row, skipped ones with their reason.
[[nodiscard]] std::string additivity_csv(std::span<const ProgramTimes> rows);

// The timed programs, cold, as a measurement set: programs/<name>.hlo, x_sum_ns, x_placed_ns and
// x_kernels beside the time, and additivity.csv.
struct ProgramSet {
  measured::Manifest manifest;
  std::string device_yaml;                   // written as device.yaml, unless empty
  std::span<const ProgramVariant> programs;  // those measured
  std::span<const ProgramTimes> rows;
};
// Throws Error where `directory` is taken.
void write_program_set(const std::string& directory, const ProgramSet& set);

}  // namespace tilecast::host
