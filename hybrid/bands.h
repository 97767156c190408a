// How wrong a corrected time may be: 90 % intervals from the errors of trials.
//
//   Band band = bands.at({Regime::kNear, place, bound_kind(estimate.bound), size_kind(time)});
//
// Split conformal (Vovk et al., 2005) on signed log errors: the band of a stratum holds 90 % of its
// trials, by their weights, with room for their number. Strata go from fine to coarse: regime,
// place, what bounds the kernel, how long it takes; the finest that weighs kLeastTrials is taken.
// Trials of one group count as the root of their number. Without any trial: a factor of kUnknown
// both ways. Plain values, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

inline constexpr double kLeastTrials = 20;
inline constexpr double kUnknown = 1.6094379124341003;  // log 5

// kNear: of corrected times near a place's kernels; kPhysics: of physics alone.
enum class Regime : std::uint8_t { kNear, kPhysics };
inline constexpr std::string_view kRegimes[] = {"near", "physics"};
// 0: any.
enum class SizeKind : std::uint8_t { kAny, kBelow5us, kBelow50us, kLonger };
inline constexpr std::string_view kSizeKinds[] = {"any", "below 5 us", "below 50 us", "longer"};
[[nodiscard]] SizeKind size_kind(Seconds time);

struct Stratum {
  Regime regime = Regime::kPhysics;
  std::uint32_t place = 0;  // from 1: of the place where near, else of the device; 0: any
  BoundKind bound = BoundKind::kAny;
  SizeKind size = SizeKind::kAny;

  friend auto operator<=>(const Stratum&, const Stratum&) = default;
};

struct Band {
  double low = -kUnknown, high = kUnknown;  // of log(measured / predicted)
  double trials = 0;                        // what they weigh
};

struct BandTrial {
  Stratum stratum;   // the finest
  double error = 0;  // log(measured / predicted)
  std::uint32_t group = 0;
};

class Bands {
 public:
  [[nodiscard]] static Bands of(std::span<const BandTrial> trials);
  [[nodiscard]] Band at(Stratum stratum) const;

  [[nodiscard]] std::string save() const;  // CSV
  // Throws Error with file and line.
  [[nodiscard]] static Bands load(const std::string& text, const std::string& file);

 private:
  std::map<Stratum, Band> bands_;
};

}  // namespace tilecast::hybrid
