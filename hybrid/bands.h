// 90 % prediction intervals of corrected times, from the errors of trials.
//
//   Band band = bands.at({Regime::kNear, place, bound_kind(estimate.bound), size_kind(time)});
//
// Split conformal prediction (Vovk et al., 2005) on signed log errors: a stratum's band contains 90
// % of its trials by weight, with the correction for their finite number. Strata are defined by
// regime, place, kind of bound and kernel time; the finest one with a weight of at least
// kLeastTrials is used. The n trials of one group weigh sqrt(n) together. Without any trial the
// band is a factor of exp(kUnknown) both ways. Plain values, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

inline constexpr double kLeastTrials = 20;
inline constexpr double kUnknown = 1.6094379124341003;  // log 5

// kNear: corrected times near a place's kernels; kPhysics: analytical times alone.
enum class Regime : std::uint8_t { kNear, kPhysics };
inline constexpr std::string_view kRegimes[] = {"near", "physics"};
enum class SizeKind : std::uint8_t { kAny, kBelow5us, kBelow50us, kLonger };
inline constexpr std::string_view kSizeKinds[] = {"any", "below 5 us", "below 50 us", "longer"};
[[nodiscard]] SizeKind size_kind(Seconds time);

struct Stratum {
  Regime regime = Regime::kPhysics;
  std::uint32_t place = 0;  // from 1: number of the place (kNear) or device (kPhysics); 0: any
  BoundKind bound = BoundKind::kAny;
  SizeKind size = SizeKind::kAny;

  friend auto operator<=>(const Stratum&, const Stratum&) = default;
};

struct Band {
  double low = -kUnknown, high = kUnknown;  // bounds of log(measured / predicted)
  double trials = 0;                        // total weight of the trials
};

struct BandTrial {
  Stratum stratum;   // the finest stratum
  double error = 0;  // log(measured / predicted)
  std::uint32_t group = 0;
};

class Bands {
 public:
  [[nodiscard]] static Bands of(std::span<const BandTrial> trials);
  [[nodiscard]] Band at(Stratum stratum) const;

  [[nodiscard]] std::string save() const;  // CSV
  // Reads save()'s text. Throws Error with file and line.
  [[nodiscard]] static Bands load(const std::string& text, const std::string& file);

 private:
  std::map<Stratum, Band> bands_;
};

}  // namespace tilecast::hybrid
