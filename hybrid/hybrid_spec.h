// What a hybrid is made of, as data:
//
//   hybrids:                                      in an experiment, beside `learners:`
//     - {name: hybrid, features: [prior], trial_by: kernel}
//
//   name       of the column
//   features   groups of columns that the trees see (learned/feature_schema.h); default: prior,
//              what physics says; of processors alone every group that needs no text
//   trial_by   what trials leave out: family | kernel | row, default kernel; of a set with few of
//              them the next finer
//   members    of the bag, 12
//   guard      no: believes the correction everywhere (for ablations)
//   seed       of the bag, 1
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
