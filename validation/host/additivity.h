// Is a program as long as its kernels together? Whole programs timed beside their parts.
//
//   for (const ProgramVariant& v : whole_programs(program, device)) ...
//   measure_additivity(variants, device, this_machine(), {}, [&](const ProgramTimes& t) {
//     rows.push_back(t);
//     return true;
//   });
//
// A program and its kernels run in the same library, the program before and after its kernels (the
// faster one counts), all in one cache state. Cold: the program's inputs, and every input of a
// kernel alone, come from main memory; inside the program a kernel finds what the one before it
// left in the caches. Warm: the other way round, nothing a call needs was pushed out by another
// kernel. The two sums are what kernels measured one by one can say about a program; where they
// part, caches carry data between kernels. Not thread-safe (forks).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "validation/host/measure.h"
#include "validation/host/workloads.h"

namespace tilecast::host {

struct ProgramTimes {
  std::string program;  // "mlp_train.c17"
  CacheState state = CacheState::kCold;
  std::size_t kernels = 0, distinct = 0;  // launches, and functions among them
  Timing whole;
  Seconds sum;               // minimum of every kernel alone, times its launches
  std::size_t unstable = 0;  // of the jobs: their best attempt counts
  std::string skipped;       // why there are no times: "unsupported: sort is not generated"

  // sum / whole - 1.
  [[nodiscard]] double error() const { return sum / whole.minimum - 1; }
};

struct AdditivityOptions {
  std::vector<CacheState> states{CacheState::kCold, CacheState::kWarm};
  TimingOptions timing;  // `state` is taken from `states`
};

// One row per program and state, in that order; `done` returning false stops.
void measure_additivity(std::span<const ProgramVariant> programs, const hwdesc::Device& device,
                        const Bench& bench, const AdditivityOptions& options,
                        const std::function<bool(const ProgramTimes&)>& done);

// "mlp_train" of "mlp_train.c17": what was cut.
[[nodiscard]] std::string family_of(const std::string& variant);

// Over rows of one state that have times.
struct AdditivitySummary {
  CacheState state = CacheState::kCold;
  std::size_t programs = 0;
  double median = 0, p90 = 0;  // of |error|
  double bias = 0;             // exp(mean log(sum / whole)) - 1
};
[[nodiscard]] std::optional<AdditivitySummary> summarise(std::span<const ProgramTimes> rows,
                                                         CacheState state);

// additivity.csv: every row, skipped ones with their reason.
[[nodiscard]] std::string additivity_csv(std::span<const ProgramTimes> rows);

// The timed programs of one state as a measurement set: programs/<name>.hlo, x_sum_ns and
// x_kernels beside the time, and additivity.csv.
struct ProgramSet {
  learned::Manifest manifest;
  std::string device_yaml;                   // written as device.yaml, unless empty
  std::span<const ProgramVariant> programs;  // those measured
  std::span<const ProgramTimes> rows;
  CacheState state = CacheState::kCold;
};
// Throws Error where `directory` is taken.
void write_program_set(const std::string& directory, const ProgramSet& set);

}  // namespace tilecast::host
