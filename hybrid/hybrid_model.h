// Physics, corrected where measurements are near (docs/hybrid.md):
//
//   time = max(least, physics x exp(k r)),  r: hybrid/bag.h, k: hybrid/shrinkage.h
//
// Physics is the description as it is: a hybrid fits no constants. The reported estimate is
// physics' with its time and bounds multiplied by the factor; Estimate::correction holds what was
// done and the 90 % interval (hybrid/bands.h), which may reach below the least time: descriptions
// of machines err, too. What physics cannot answer a hybrid cannot either. Thread-safe,
// deterministic.
//
// Monotone by construction: a trained device with other numbers is predicted by its own physics,
// but r and k are those of the trained device; any other machine, and a description with constants
// of its own, is physics alone. So "more bandwidth, clock or units is never slower" holds for a
// hybrid where it holds for physics; for a stated tile, between changed devices and from the
// trained one only for the tile that it chooses, since all tiles of a changed device have the r of
// that one.
#pragma once

#include <memory>
#include <optional>

#include "analytical/cost_model.h"
#include "hybrid/bag.h"
#include "hybrid/bands.h"
#include "hybrid/known_devices.h"
#include "hybrid/known_kernels.h"
#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

struct HybridParts {
  Bag bag;
  Known known;
  Bands bands;
  double correlation = 1;  // of log errors of two kernels of a group where a measured one is near
  KnownDevices devices;    // numbered from 1 in strata
};

// What is believed: the rules, or everything on every machine (k = 1), for comparison only.
enum class Belief : std::uint8_t { kRules, kEverything };

// Why a kernel's correction is what it is.
struct CorrectionReasons {
  analytical::Correction correction;
  Opinion said;  // of the bag, before k
  std::vector<Place::Neighbour> nearest = {};
  std::vector<Driver> drivers = {};  // largest first
  std::string verdict = {};          // in words
};

class HybridModel final : public analytical::CostModel {
 public:
  // Keeps a reference to `prior`: the model that the parts were fitted to.
  HybridModel(const analytical::CostModel& prior, HybridParts parts,
              Belief belief = Belief::kRules);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

  // nullopt where estimate() has no answer.
  [[nodiscard]] std::optional<CorrectionReasons> explain(const analytical::KernelQuery& query,
                                                         const hwdesc::Device& device) const;
  [[nodiscard]] const HybridParts& parts() const { return parts_; }

 private:
  struct View;
  struct Trust;
  [[nodiscard]] View view_of(const hwdesc::Device& device) const;
  [[nodiscard]] Trust trust_of(const analytical::KernelQuery& query, const View& view,
                               const analytical::Estimate& prior) const;
  void find_near(const analytical::KernelQuery& query, const View& view,
                 const analytical::Estimate& prior, Trust& trust) const;
  // Whether any correction is, on this device.
  [[nodiscard]] bool believes(const hwdesc::Device& trained) const;
  [[nodiscard]] double weight_of(const Trust& trust, const Opinion& said) const;
  void correct(const analytical::KernelQuery& query, const Trust& trust, const Opinion& said,
               const hwdesc::Device& device, analytical::Estimate& estimate) const;
  [[nodiscard]] std::string verdict_text(const Trust& trust, const View& view) const;

  const analytical::CostModel& prior_;
  HybridParts parts_;
  Belief belief_;
};

}  // namespace tilecast::hybrid
