// Checks whether a description is plausible: recomputes peaks from the parts and compares them with
// the published ones; reports rates that are missing or infinite, blocks without a source, and
// numbers inherited from an ancestor with another clock or number of workers.
#pragma once

#include <string>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

// kNotPublished: plausible, but there is no published number to compare with.
enum class Verdict { kAgrees, kNotPublished, kDiffers };

struct CheckResult {
  std::string what;  // "bf16 peak per chip"
  double computed_si = 0, published_si = 0;
  double deviation = 0;  // computed / published - 1
  Verdict verdict = Verdict::kDiffers;
  std::string message;
};
[[nodiscard]] std::vector<CheckResult> check(const Device& device, double tolerance = 0.05);

// Finds the preset of a machine from a profiler's facts: its name, rates and sizes.
//
//   DeviceGuess guess = guess_device({.name = "TPU v6 Lite", .matrix_flops = 918e12});
//   guess.preset   // "tpu_v6e"
//   guess.why      // "profile_names of tpu_v6e has 'TPU v6 Lite'; 1 of 1 facts agree"
//
// Presets list their names in profiles (key profile_names). A fact agrees if it is within
// kFactTolerance of the preset's. If several presets or none have the name, the one with most
// agreeing facts wins, then the nearest. Without a name, at least two facts must agree and at most
// one may differ. Thread-safe.
inline constexpr double kFactTolerance = 0.1;  // of the ratio of a fact to the preset's

// Facts about the unit that runs one kernel; empty or 0 if unknown.
struct MachineFacts {
  std::string name;           // "TPU v6 Lite", "NVIDIA H100 80GB HBM3"
  double matrix_flops = 0;    // peak bf16 FLOP/s
  double bandwidth = 0;       // of main memory, bytes per second
  double capacity_bytes = 0;  // of main memory
  double clock_hz = 0;
  double workers = 0;  // SMs, compute units
};

struct DeviceGuess {
  std::string preset;  // empty: none is close enough
  std::string why;     // reason for the choice, or the nearest presets
};
[[nodiscard]] DeviceGuess guess_device(const MachineFacts& facts);

// The facts that do not agree: "main memory: 2.66 TB/s in the profile, 5.3 TB/s in mi300x".
[[nodiscard]] std::vector<std::string> disagreements(const MachineFacts& facts,
                                                     const Device& device);

}  // namespace tilecast::hwdesc
