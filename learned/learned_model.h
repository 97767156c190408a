// A trained model as a CostModel: times of kernels, and so of programs.
//
//   const analytical::AnalyticalModel physics;
//   LearnedModel model(load_model("models/host_sage"), physics);
//   auto answers = model.estimate(queries, device);
//
// The estimate's time is the prediction, held at or above the speed of light; its bounds are those
// of the roofline (a learned time has no parts), and a flag says so. Kernels of op classes the
// model never saw are outside its domain: nullopt. A model that only ranks, or predicts
// another quantity than time, is refused (Error).
#pragma once

#include "learned/model_dir.h"

namespace tilecast::learned {

class LearnedModel final : public analytical::CostModel {
 public:
  // `prior`: the analytical model that features and residuals refer to; must outlive this.
  LearnedModel(LoadedModel model, const analytical::CostModel& prior);
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;
  [[nodiscard]] const ModelCard& card() const { return model_.card; }

 private:
  LoadedModel model_;
  const analytical::CostModel& prior_;
};

}  // namespace tilecast::learned
