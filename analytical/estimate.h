// A model's answer for one kernel: the time, and what it consists of.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/units.h"

namespace tilecast::analytical {

// The resources that can bind a kernel, in the order of reports.
enum class Bound : std::uint8_t {
  kHbmRead,
  kHbmWrite,
  kMatrix,
  kVector,
  kTranscendental,
  kCrossLane,
  kOnChip,
  kNetwork,
  kIssue,
  kLatency,
  kFillDrain,
  kOverhead,
};
inline constexpr std::size_t kBoundCount = 12;
[[nodiscard]] std::string_view name(Bound bound);  // "hbm_read", ...

// Seconds each resource is busy over the whole kernel (latency, fill/drain, overhead: the time they
// add). They do not sum to the total: a pipeline overlaps resources, see analytical/pipeline.h.
using BoundVector = std::array<Seconds, kBoundCount>;

// Position of a kernel relative to the kernels a correction was learned from.
enum class Verdict : std::uint8_t { kIn, kEdge, kOut };
[[nodiscard]] std::string_view name(Verdict verdict);  // "in", "edge", "out"

// Learned correction of an analytical time; Estimate::time is the corrected one.
struct Correction {
  Seconds analytical;  // before
  double factor = 1;   // time / analytical
  double weight = 0;   // 0 ... 1: the share of the learned correction that was applied
  Verdict verdict = Verdict::kOut;
  Seconds low, high;       // interval that contains the measured time of 90 % of kernels
  double correlation = 0;  // of the log errors of two kernels of one program
};

inline constexpr std::size_t kInnerLevels = 8;  // memory levels inside main memory, at most

// Dynamic energy of one launch: operations of the units, bytes of main memory, bytes of the levels
// inside it, bytes sent to other chips (analytical/energy.h).
struct LaunchEnergy {
  Joules compute, memory, on_chip, network;

  [[nodiscard]] Joules total() const { return compute + memory + on_chip + network; }
};

struct Estimate {
  Seconds time;            // on the device; never includes the host's dispatch overhead
  Seconds speed_of_light;  // lower bound for any implementation: max over roofs
  BoundVector bounds{};
  Bound bound = Bound::kOverhead;       // the resource whose removal saves most time
  Bound next_bound = Bound::kOverhead;  // what binds with `bound` removed ...
  Seconds next_time;                    // ... and the time then
  TileConfig tile;
  double iterations = 1;
  Bytes hbm_read, hbm_write;  // device traffic, padded layouts, re-reads included
  std::array<Bytes, kInnerLevels> inner_bytes{};  // as Accounting::inner_bytes
  Flops flops;                                    // useful work, XLA's count
  double utilisation = 0;                         // speed_of_light / time
  Bytes scratchpad_used;
  std::string_view model;                     // "analytical", "roofline", ...; static storage
  std::optional<Correction> correction = {};  // of learned models
  std::optional<LaunchEnergy> energy = {};    // if the device and the model describe it
  double clock_factor = 1;         // below 1: the power limit lowers the clock to this share
  std::vector<std::string> flags;  // approximations: "custom-call: bytes only", ...
};

}  // namespace tilecast::analytical
