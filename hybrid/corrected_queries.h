// What a hybrid says of a batch of queries before physics is corrected with it. Internal to
// hybrid_model.cpp and hybrid_explain.cpp.
#pragma once

#include <vector>

#include "hybrid/hybrid_model.h"

namespace tilecast::hybrid {

// What begins the source of constants that a hybrid fitted itself.
inline constexpr std::string_view kFittedSource = "hybrid ";

// The asked device, and the one that corrections are computed on.
struct TrainedView {
  hwdesc::Device asked;  // with the fitted constants, where it brings none and is of the lineage
  hwdesc::Device reference;  // the trained one; `asked` where there is none
  bool known = false;        // trained on it or its lineage
  bool same = true;          // `reference` and `asked` are one machine
  // Without constants that the hybrid fitted: for op classes they were not fitted to.
  [[nodiscard]] std::optional<hwdesc::Device> described() const;
};
[[nodiscard]] TrainedView trained_view(const HybridParts& parts, const hwdesc::Device& device);

struct CorrectedQuery {
  double residual = 0;  // log(measured / analytical), before the weight
  Trust::Said trust;
  Place place;
};
// `priors`: of the reference. Queries without one: residual 0, weight 0.
[[nodiscard]] std::vector<CorrectedQuery> correct_queries(
    const HybridParts& parts, std::span<const analytical::KernelQuery> queries,
    const TrainedView& view, learned::Priors priors);

}  // namespace tilecast::hybrid
