// The analytical model ("physics"), corrected near measured kernels (docs/hybrid.md):
//
//   time = max(least, physics x exp(k r)),  r: hybrid/bag.h, k: hybrid/shrinkage.h
//
// Physics uses the description unchanged: a hybrid fits no constants. The result is the analytical
// estimate with its time and bounds multiplied by the factor. Estimate::correction holds the
// correction and the 90 % interval (hybrid/bands.h), which may go below the least time, since
// descriptions of machines have errors too. Without an analytical estimate a hybrid has none
// either. Thread-safe, deterministic.
//
// Monotone by construction: a trained device with changed numbers is predicted by its own physics,
// with r and k of the trained device. All other machines, and descriptions with their own fitted
// constants, get physics alone. So "more bandwidth, clock or units is never slower" holds for a
// hybrid wherever it holds for physics. Limitation for stated tiles: all tiles of a changed device
// use the r of the tile chosen on the trained device. So for a stated tile the property holds
// between changed devices, and against the trained device only for its chosen tile.
#pragma once

#include <memory>
#include <optional>

#include "analytical/cost_model.h"
#include "hybrid/bag.h"
#include "hybrid/bands.h"
#include "hybrid/known_kernels.h"
#include "hybrid/shrinkage.h"

namespace tilecast::hybrid {

struct HybridParts {
  Bag bag;
  Known known;
  Bands bands;
  double correlation = 1;  // of log errors of two kernels in a group, near measured kernels
  KnownDevices devices;    // numbered from 1 in Stratum::place
};

// kRules: k by the rules of places. kEverything: k = 1 on every machine, for comparison only.
enum class Belief : std::uint8_t { kRules, kEverything };

// Explanation of a kernel's correction.
struct CorrectionReasons {
  analytical::Correction correction;
  Opinion said;  // the bag's prediction, before k
  std::vector<Place::Neighbour> nearest = {};
  std::vector<Driver> drivers = {};  // largest first
  std::string verdict = {};          // as text
};

class HybridModel final : public analytical::CostModel {
 public:
  // Keeps a reference to `prior`, which must be the model that the parts were fitted to.
  HybridModel(const analytical::CostModel& prior, HybridParts parts,
              Belief belief = Belief::kRules);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

  // nullopt if estimate() has no answer.
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
  // Whether the rules give the bag any weight.
  [[nodiscard]] bool may_correct(const Trust& trust) const;
  // Opinions of the queries with the indices `asked`.
  void ask_bag(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
               learned::Priors priors, std::span<const std::size_t> asked,
               std::span<Opinion> said) const;
  [[nodiscard]] double weight_of(const Trust& trust, const Opinion& said) const;
  void correct(const analytical::KernelQuery& query, const Trust& trust, const Opinion& said,
               const hwdesc::Device& device, analytical::Estimate& estimate) const;
  [[nodiscard]] std::string verdict_text(const Trust& trust, const View& view) const;

  const analytical::CostModel& prior_;
  HybridParts parts_;
  Belief belief_;
};

}  // namespace tilecast::hybrid
