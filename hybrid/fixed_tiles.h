// A model whose choice of tiles stands still: each kernel's tile is chosen once, on one device, and
// kept while the device's constants move. A fit needs that to be smooth, and fast.
//
// Where the best tile is chosen by the model, d(min time)/d(constant) = d(time of that tile): the
// envelope theorem makes the derivative at the chosen device exact.
#pragma once

#include <map>
#include <span>

#include "analytical/cost_model.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

class FixedTiles final : public analytical::CostModel {
 public:
  // Keeps a reference to `model` and the addresses of the sets' kernels. Asks for those kernels on
  // `device` whose samples name no tile. Reading is thread-safe.
  FixedTiles(const analytical::CostModel& model, std::span<const measured::SampleSet> sets,
             const hwdesc::Device& device);

  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

 private:
  const analytical::CostModel& model_;
  std::map<const ir::Kernel*, analytical::TileConfig> tiles_;
};

}  // namespace tilecast::hybrid
