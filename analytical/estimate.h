// Any model's answer for one kernel: the time, and why it is that time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytical/tile.h"
#include "hwdesc/units.h"

namespace tilecast::analytical {

// The resources a kernel can be bound by; the order is the order of reports.
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
// add). The total is not their sum: a pipeline overlaps resources, see analytical/pipeline.h.
using BoundVector = std::array<Seconds, kBoundCount>;

// How far a kernel is from those a correction was learned from: among them, at their edge, outside.
enum class Verdict : std::uint8_t { kIn, kEdge, kOut };
[[nodiscard]] std::string_view name(Verdict verdict);  // "in", "edge", "out"

// What measurements changed about an analytical time; Estimate::time is the corrected one.
struct Correction {
  Seconds analytical;  // before
  double factor = 1;   // time / analytical
  double weight = 0;   // 0 ... 1: the part of the learned correction that was believed
  Verdict verdict = Verdict::kOut;
  Seconds low, high;       // interval that holds the measured time in 90 of 100 kernels
  double correlation = 0;  // of the log errors of two kernels of one program
};

inline constexpr std::size_t kInnerLevels = 8;  // memory levels inside main memory, at most

// Of one launch, what switches: by operations of the units, bytes of main memory, bytes of the
// levels inside it, bytes sent to other chips (analytical/energy.h).
struct LaunchEnergy {
  Joules compute, memory, on_chip, network;

  [[nodiscard]] Joules total() const { return compute + memory + on_chip + network; }
};

struct Estimate {
  Seconds time;            // on the device; dispatch overhead of the host is never in it
  Seconds speed_of_light;  // no implementation can be faster: max over roofs
  BoundVector bounds{};
  Bound bound = Bound::kOverhead;       // without which most time would be saved
  Bound next_bound = Bound::kOverhead;  // what would, if `bound` were removed ...
  Seconds next_time;                    // ... and the time then
  TileConfig tile;
  double iterations = 1;
  Bytes hbm_read, hbm_write;  // device traffic, padded layouts, re-reads included
  std::array<Bytes, kInnerLevels> inner_bytes{};  // as Accounting::inner_bytes
  Flops flops;                                    // useful work, XLA's count
  double utilisation = 0;                         // speed_of_light / time
  Bytes scratchpad_used;
  std::string_view model;                     // "analytical", "roofline", ...; static storage
  std::optional<Correction> correction = {};  // of models that learned from measurements
  std::optional<LaunchEnergy> energy = {};    // where the device and the model say enough
  double clock_factor = 1;         // below 1: the power limit lowers the clock to this part of it
  std::vector<std::string> flags;  // what was approximated: "custom-call: bytes only", ...
};

}  // namespace tilecast::analytical
