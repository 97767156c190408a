// Compares a program's measured time with the sum of its kernels' times.
//
//   measure_additivity(whole_programs(program, device), device, this_machine(), {},
//                      [&](const ProgramTimes& row) { rows.push_back(row); return true; });
//   summarise(rows, CacheState::kCold, Sum::kPlaced)->median;
//
// A program and its kernels run from the same library, cold (inputs come from main memory) and warm
// (the same arrays at every call). A kernel timed alone is either cold or warm; inside a program it
// finds part of its data in the caches. So two sums are reported: "alone" adds times in the
// program's own state; "placed" interpolates each kernel between its warm and its cold time by the
// share of its bytes that the last-level cache no longer holds (missing_shares()). Not thread-safe
// (forks).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/c_program.h"
#include "host/measure.h"
#include "host/run_kernels.h"
#include "host/workloads.h"
#include "hwdesc/device.h"

namespace tilecast::host {

struct StateTimes {
  Timing whole;    // the program in one run
  Seconds alone;   // sum over calls of the kernel's minimum in this state
  Seconds placed;  // sum over calls of times interpolated between warm and cold
};

struct ProgramTimes {
  std::string program;                    // "mlp_train.c17"
  std::size_t kernels = 0, distinct = 0;  // calls; different functions among them
  StateTimes cold, warm;
  std::size_t unstable = 0;  // timings that never agreed; the best attempt is used
  std::string skipped;       // reason if not timed: "unsupported: sort is not generated"

  [[nodiscard]] const StateTimes& in(CacheState state) const {
    return state == CacheState::kCold ? cold : warm;
  }
};

enum class Sum { kAlone, kPlaced };
// Sum / whole program - 1, for a row that has times.
[[nodiscard]] double error(const ProgramTimes& row, CacheState state, Sum sum);

// Calls `done` with one row per program, in order, until it returns false. Ignores `timing.state`.
void measure_additivity(std::span<const ProgramVariant> programs, const hwdesc::Device& device,
                        const Bench& bench, const TimingOptions& timing,
                        const std::function<bool(const ProgramTimes&)>& done);

// The program a variant was cut from: "mlp_train" for "mlp_train.c17".
[[nodiscard]] std::string family_of(const std::string& variant);

// Over rows that have times.
struct AdditivitySummary {
  std::size_t programs = 0;
  double median = 0, p90 = 0;  // of |error|
  double bias = 0;             // exp(mean log(sum / whole)) - 1
};
[[nodiscard]] std::optional<AdditivitySummary> summarise(std::span<const ProgramTimes> rows,
                                                         CacheState state, Sum sum);

// Text of additivity.csv: every row; skipped rows carry their reason.
[[nodiscard]] std::string additivity_csv(std::span<const ProgramTimes> rows);

// The timed programs as a measurement set of cold times: programs/<name>.hlo, columns x_sum_ns,
// x_placed_ns and x_kernels, and additivity.csv.
struct ProgramSet {
  measured::Manifest manifest;
  std::string device_yaml;                   // written to device.yaml unless empty
  std::span<const ProgramVariant> programs;  // the measured ones
  std::span<const ProgramTimes> rows;
};
// Throws Error if `directory` exists and is not empty.
void write_program_set(const std::string& directory, const ProgramSet& set);

// Estimates how much of a kernel's data is still in a cache from earlier kernels of the program.
// Used to measure additivity (additivity.h). Pure, thread-safe.

// For every call of the program, the share (0 ... 1) of the bytes it reads and writes that earlier
// calls did not touch within the last `capacity` bytes. Models a fully associative LRU cache of 4
// KiB pages; bytes between two uses of a page count at each use. The program runs repeatedly: warm
// with the same inputs and results, cold with different ones each time. The heap is always the
// same.
[[nodiscard]] std::vector<double> missing_shares(const CProgram& program, Bytes capacity,
                                                 CacheState state);

}  // namespace tilecast::host
