// Features of a kernel as one row of numbers: what boosted trees see, and what graph networks see
// besides the graph.
//
//   TableFeatures features({.groups = {FeatureGroup::kStatic, FeatureGroup::kTile}});
//   std::vector<float> rows(queries.size() * features.width());
//   features.extract(queries, device, {}, rows);
//
// Sources: Kaufman et al., MLSys 2021, section 3.1 (lists as a fixed sub-vector, sum and product;
// static performance features); Phothilimthana et al., NeurIPS 2023 (TpuGraphs; tile config).
// Counts and sizes are as they are (not scaled, no logarithm: learned/feature_scaler.h does that
// where a model needs it), without the padding of layouts. A value that does not exist (no tile
// given, no contraction) is NaN, which trees take as missing; none is infinite. Each column is
// declared with its value in learned/table_features_<group>.cpp.
// Kernels are analysed once per run of queries about one kernel, so that queries of one kernel
// should stand together. Thread-safe. After the first batch of a thread nothing is allocated per
// query; the loops that tiles cut are allocated once per run. The group tile_bounds asks the
// analytical model about some 500 tiles of each kernel, curve makes the loops of each tile:
// milliseconds instead of microseconds. A kernel that has no loops (schedule/tile_schedule.h):
// Error.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/feature_schema.h"
#include "learned/vocabulary.h"

namespace tilecast::learned {

struct FeatureSelection {
  std::vector<FeatureGroup> groups;     // any but kNode; order does not matter
  std::vector<std::string> parameters;  // names; needs kParameters in `groups` and the reverse
  Vocabulary vocabulary = {};           // of kTokens; a training fills it: no columns before

  friend bool operator==(const FeatureSelection&, const FeatureSelection&) = default;
};

[[nodiscard]] bool has_group(const FeatureSelection& selection, FeatureGroup group);

class TableFeatures {
 public:
  // Throws Error for a group twice, kNode, or parameters without their group.
  explicit TableFeatures(FeatureSelection selection);

  [[nodiscard]] const FeatureSchema& schema() const { return schema_; }
  [[nodiscard]] std::size_t width() const { return schema_.columns.size(); }
  [[nodiscard]] bool needs_prior() const;

  // Row-major queries x width() into `rows`, columns by group: static, ops, shape, machine, code,
  // tile, alignment, tile_bounds, curve, prior, parameters, tokens. `priors`: the analytical
  // answers, one per query, when needs_prior() (one that is absent gives NaN), else ignored and may
  // be empty. A query whose parameters are not as many as the selection's: Error.
  void extract(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
               std::span<const std::optional<analytical::Estimate>> priors,
               std::span<float> rows) const;

 private:
  FeatureSelection selection_;
  FeatureSchema schema_;
};

}  // namespace tilecast::learned
