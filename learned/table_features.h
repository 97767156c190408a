// Features of a kernel as one row of numbers: the input of boosted trees, and the kernel features
// of graph networks.
//
//   TableFeatures features({.groups = {FeatureGroup::kStatic, FeatureGroup::kTile}});
//   std::vector<float> rows(queries.size() * features.width());
//   features.extract(queries, device, {}, rows);
//
// Sources: Kaufman et al., MLSys 2021, section 3.1 (lists as a fixed sub-vector, sum and product;
// static performance features); Phothilimthana et al., NeurIPS 2023 (TpuGraphs; tile config).
// Counts and sizes are raw values without layout padding (learned/feature_scaler.h scales them if a
// model needs it). A value that does not exist (no tile given, no contraction) is NaN, which trees
// treat as missing; no value is infinite. Each column is declared with its value in
// learned/table_features_<group>.cpp. Consecutive queries of one kernel share its analysis, so keep
// them together. After a thread's first batch, queries do not allocate, except for the tile's loops
// once per kernel. The group curve builds the loops of each tile, which takes milliseconds instead
// of microseconds, and throws Error for a kernel without loops (schedule/tile_schedule.h).
// Thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "learned/feature_schema.h"
#include "learned/vocabulary.h"

namespace tilecast::learned {

struct FeatureSelection {
  std::vector<FeatureGroup> groups;     // any but kNode, in any order
  std::vector<std::string> parameters;  // names; not empty exactly if `groups` has kParameters
  Vocabulary vocabulary = {};           // for kTokens; set by training, no columns before

  friend bool operator==(const FeatureSelection&, const FeatureSelection&) = default;
};

[[nodiscard]] bool has_group(const FeatureSelection& selection, FeatureGroup group);

class TableFeatures {
 public:
  // Throws Error for a duplicate group, kNode, or parameters without their group.
  explicit TableFeatures(FeatureSelection selection);

  [[nodiscard]] const FeatureSchema& schema() const { return schema_; }
  [[nodiscard]] std::size_t width() const { return schema_.columns.size(); }
  [[nodiscard]] bool needs_prior() const;

  // Row-major queries x width() into `rows`, columns by group: static, ops, shape, machine,
  // tile, alignment, curve, prior, parameters, tokens. `priors`: the analytical
  // estimates, one per query, if needs_prior() (an absent one gives NaN); else ignored and may be
  // empty. Throws Error for a query whose number of parameters differs from the selection's.
  void extract(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
               std::span<const std::optional<analytical::Estimate>> priors,
               std::span<float> rows) const;

 private:
  FeatureSelection selection_;
  FeatureSchema schema_;
};

}  // namespace tilecast::learned
