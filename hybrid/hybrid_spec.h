// The settings of a hybrid, as YAML:
//
//   hybrids:                                      in an experiment, beside `learners:`
//     - {name: hybrid, features: [prior], trial_by: kernel}
//
//   name       name of the column
//   features   groups of the trees' columns (learned/feature_schema.h); default: prior,
//              the analytical terms; if all devices are processors, every group without text
//   trial_by   unit that trials leave out: family | kernel | row, default kernel; the next finer
//              one for a set with few of them
//   members    members of the bag, default 12
//   guard      no: applies the full correction everywhere (for ablations)
//   seed       seed of the bag, default 1
// Plain values.
#pragma once

#include <optional>
#include <string>

#include "hwdesc/config_reader.h"
#include "hybrid/bag_fit.h"
#include "hybrid/hybrid_model.h"

namespace tilecast::hybrid {

struct HybridSpec {
  std::string name;
  std::optional<std::vector<learned::FeatureGroup>> features = {};
  learned::ValidateBy trial_by = learned::ValidateBy::kKernel;
  std::size_t members = 12;
  Belief belief = Belief::kRules;
  std::uint64_t seed = 1;
};

// Throws Error with file, line and column.
[[nodiscard]] HybridSpec read_hybrid(const hwdesc::ConfigNode& node);

}  // namespace tilecast::hybrid
