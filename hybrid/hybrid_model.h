// Physics, corrected where measurements are near (docs/hybrid.md):
//
//   time = max(least, prior x exp(w r)),  w from hybrid/trust.h, least from measured/physics.h
//
// The reported estimate is the prior's with its time and bounds multiplied by the factor;
// Estimate::correction holds what was done and the 90 % interval, which may reach below the
// least time: descriptions of machines err, too. What the prior cannot answer a hybrid cannot
// either. Thread-safe, deterministic.
//
// Monotone by construction: r and w are computed on a device the model was trained on. A trained
// device with overridden values (or a description of its lineage) is predicted by its own physics,
// but r and w are those of the trained device, so that more bandwidth or a higher peak is never
// slower. Any other description that physics cannot tell from a trained device for a kernel
// (hybrid/work.h, machine_distance) is that device for this kernel; else it is a new device: r on
// the device itself, w as the trials without devices deserved. Constants fitted to a trained device
// hold for descriptions of its lineage without a calibration of their own; those that a hybrid
// fitted, only within the domain.
#pragma once

#include <memory>
#include <optional>

#include "analytical/cost_model.h"
#include "hybrid/domain.h"
#include "hybrid/known_devices.h"
#include "hybrid/trust.h"
#include "learned/feature_effects.h"
#include "learned/model_dir.h"

namespace tilecast::hybrid {

struct HybridParts {
  std::unique_ptr<learned::Predictor> residual;  // log(measured / prior); null: none
  Domain domain;
  Trust trust;
  KnownDevices devices;
};

// How much of a correction is believed, 0 to 1.
using WeightRule = double (*)(const Trust::Assessment&);
[[nodiscard]] double weight_of_trials(const Trust::Assessment& assessment);  // what trials deserved
[[nodiscard]] double full_weight(const Trust::Assessment& assessment);  // 1: for comparison only

// Why a kernel's correction is what it is.
using Driver = learned::FeatureEffect;
struct CorrectionReasons {
  analytical::Correction correction;
  double residual = 0;  // r before the weight
  std::vector<Domain::Neighbour> nearest = {};
  std::vector<std::string> nearest_names = {};
  std::vector<Driver> drivers = {};  // largest first
  std::string verdict = {};          // in words: "no measured kernel is bound by cross_lane"
};

class HybridModel final : public analytical::CostModel {
 public:
  // Keeps a reference to `prior`: the model that the parts were fitted to.
  HybridModel(const analytical::CostModel& prior, HybridParts parts,
              WeightRule weight = weight_of_trials);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

  // nullopt where estimate() has no answer.
  [[nodiscard]] std::optional<CorrectionReasons> explain(const analytical::KernelQuery& query,
                                                         const hwdesc::Device& device) const;
  // `device` with the constants that predictions of it use, its dispatch among them: what
  // predictions of rows that hold a dispatch need (measured/samples.h, predict()).
  [[nodiscard]] hwdesc::Device with_constants(const hwdesc::Device& device) const;
  [[nodiscard]] const HybridParts& parts() const { return parts_; }

 private:
  struct View;
  struct Residual;
  struct Answers;
  [[nodiscard]] View view_of(const hwdesc::Device& device) const;
  [[nodiscard]] View view_as(const hwdesc::Device& device, std::size_t trained) const;
  [[nodiscard]] std::vector<Residual> residuals(std::span<const analytical::KernelQuery> queries,
                                                const View& view, learned::Priors priors,
                                                std::span<const double> machines) const;
  void use_described_constants_outside(
      std::span<const analytical::KernelQuery> queries, const View& view,
      std::span<const Residual> residuals,
      std::vector<std::optional<analytical::Estimate>>& answers) const;
  [[nodiscard]] Answers corrected(std::span<const analytical::KernelQuery> queries,
                                  const View& view,
                                  std::vector<std::optional<analytical::Estimate>> estimates,
                                  std::span<const double> machines) const;
  [[nodiscard]] Answers answers(std::span<const analytical::KernelQuery> queries,
                                const hwdesc::Device& device) const;
  [[nodiscard]] std::string verdict_text(const Residual& residual, const View& view) const;

  const analytical::CostModel& prior_;
  HybridParts parts_;
  WeightRule weight_;
};

}  // namespace tilecast::hybrid
