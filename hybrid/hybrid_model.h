// Physics, corrected where measurements are near (docs/hybrid.md):
//
//   time = max(speed of light, analytical x exp(w r)),  w from hybrid/trust.h
//
// For op classes that were never measured, physics is that of the description: constants that the
// hybrid fitted are not theirs. The reported estimate is the analytical one with its time, and its
// bounds, multiplied by the factor; Estimate::correction says what was done and the 90 % interval.
// The interval may reach below the speed of light: descriptions of machines err, too.
// What the analytical model cannot answer this one cannot either. Thread-safe, deterministic.
//
// Monotone by construction: r, w and the op class are computed on a device the model was trained
// on. A trained device with overridden values (and a description that extends it, the machine
// unchanged) is asked about by its physics: r and w are those of the trained device, so that more
// bandwidth or a higher peak is never slower. Any other description is a new device: r on the
// device itself, w as the trials without devices deserved. The constants fitted to a trained device
// hold for those descriptions of its lineage that bring no calibration of their own.
#pragma once

#include <memory>
#include <optional>

#include "analytical/cost_model.h"
#include "hybrid/domain.h"
#include "hybrid/trust.h"
#include "learned/model_dir.h"

namespace tilecast::hybrid {

struct HybridParts {
  std::unique_ptr<learned::Predictor> residual;  // log(measured / analytical); null: none
  Domain domain;
  Trust trust;
  bool guard = true;
  std::vector<hwdesc::Device> devices;  // trained on, as calibrated
};

// Why a kernel's correction is what it is.
struct Driver {
  std::string feature;
  double value = 0;
  double effect = 0;  // on the log of the time: how far the correction moves without it
};
struct CorrectionReasons {
  analytical::Correction correction;
  double residual = 0;  // r before the weight
  std::vector<Domain::Neighbour> nearest = {};
  std::vector<std::string> nearest_names = {};
  std::vector<Driver> drivers = {};  // largest first
  std::string verdict = {};          // in words: "op class softmax was never measured"
};

class HybridModel final : public analytical::CostModel {
 public:
  explicit HybridModel(HybridParts parts);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

  // nullopt where estimate() has no answer.
  [[nodiscard]] std::optional<CorrectionReasons> explain(const analytical::KernelQuery& query,
                                                         const hwdesc::Device& device) const;
  // `device` with the constants it is asked with, its dispatch among them: what predictions of rows
  // that hold a dispatch need (measured/samples.h, predict()).
  [[nodiscard]] hwdesc::Device with_constants(const hwdesc::Device& device) const;
  [[nodiscard]] const HybridParts& parts() const { return parts_; }

 private:
  HybridParts parts_;
};

}  // namespace tilecast::hybrid
