#include "hybrid/hybrid_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwdesc/config_values.h"
#include "measured/importers/import_manifest.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::ConfigNode;
using learned::FeatureGroup;
using learned::LearnerKind;
using learned::LearnerSpec;

constexpr std::string_view kNoOrYes[] = {"no", "yes"};
constexpr std::size_t kMostTrialFolds = 100;

void read_flag(const ConfigNode& node, std::string_view key, bool& flag) {
  if (const ConfigNode* child = node.find(key)) flag = choice(*child, kNoOrYes) == 1;
}

const LearnerSpec& candidate(const ConfigNode& node, std::span<const LearnerSpec> learners) {
  const std::string& wanted = text_of(node);
  const auto found = std::ranges::find(learners, wanted, &LearnerSpec::name);
  if (found == learners.end()) {
    std::vector<std::string_view> names;
    for (const LearnerSpec& learner : learners) names.push_back(learner.name);
    fail_at(node, fmt::format("got {}, expected one of the learners: {}", hwdesc::show_text(wanted),
                              names.empty() ? "there are none"
                                            : fmt::format("{}", fmt::join(names, ", "))));
  }
  if (found->ranks_only()) {
    fail_at(node, fmt::format("{} only ranks tiles; a hybrid needs times", wanted));
  }
  if (!found->target.residual) {
    fail_at(node,
            fmt::format("{} predicts no residuals; a hybrid corrects physics, expected a learner "
                        "with target: residual",
                        wanted));
  }
  return *found;
}

std::vector<LearnerSpec> default_candidates() {
  LearnerSpec process{.name = "process", .kind = LearnerKind::kGaussianProcess};
  process.features.groups = {FeatureGroup::kPrior, FeatureGroup::kOps, FeatureGroup::kTile,
                             FeatureGroup::kStatic};
  process.target.residual = true;
  process.validation = 0;
  LearnerSpec trees{.name = "trees", .kind = LearnerKind::kXgboost};
  trees.features.groups = {FeatureGroup::kStatic, FeatureGroup::kOps,   FeatureGroup::kShape,
                           FeatureGroup::kTile,   FeatureGroup::kPrior, FeatureGroup::kMachine};
  trees.target.residual = true;
  return {std::move(process), std::move(trees)};
}

}  // namespace

HybridSpec read_hybrid(const ConfigNode& node, std::span<const LearnerSpec> learners) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ..., try: [...]}");
  allow_only(node, {"name", "calibrate", "try", "stack", "trial_by", "folds", "guard", "seed"});
  HybridSpec spec{.name = text(node, "name"), .candidates = {}, .trial_by = {}};
  if (spec.name.empty()) fail_at(*node.find("name"), "is empty");
  read_flag(node, "calibrate", spec.calibrate);
  read_flag(node, "stack", spec.stack);
  bool guard = true;
  read_flag(node, "guard", guard);
  if (!guard) spec.weight = full_weight;
  if (const ConfigNode* tried = node.find("try")) {
    for (const ConfigNode& entry : list(*tried)) {
      const LearnerSpec& learner = candidate(entry, learners);
      if (std::ranges::count(spec.candidates, learner.name, &LearnerSpec::name) > 0) {
        fail_at(entry, fmt::format("{} is tried twice", learner.name));
      }
      spec.candidates.push_back(learner);
    }
  } else {
    spec.candidates = default_candidates();
  }
  if (const ConfigNode* by = node.find("trial_by")) {
    spec.trial_by = static_cast<learned::ValidateBy>(choice(*by, learned::kValidateBy));
  }
  read_number(node, "folds", 2, kMostTrialFolds, spec.folds);
  read_number(node, "seed", 0, UINT32_MAX, spec.seed);
  return spec;
}

HybridSpec default_hybrid(std::string name) {
  return {.name = std::move(name), .candidates = default_candidates(), .trial_by = {}};
}

}  // namespace tilecast::hybrid
