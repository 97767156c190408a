#include "hybrid/hybrid_spec.h"

#include <fmt/format.h>

#include "hwdesc/config_values.h"
#include "measured/importers/import_manifest.h"

namespace tilecast::hybrid {
namespace {

using hwdesc::ConfigNode;
using learned::FeatureGroup;

constexpr std::string_view kNoOrYes[] = {"no", "yes"};
constexpr std::size_t kLeastMembers = 4;

std::vector<FeatureGroup> read_groups(const ConfigNode& node) {
  std::vector<FeatureGroup> groups;
  for (const ConfigNode& entry : list(node)) {
    const std::string& text = text_of(entry);
    const auto group = learned::parse_feature_group(text);
    if (!group || *group == FeatureGroup::kNode || *group == FeatureGroup::kTokens ||
        *group == FeatureGroup::kParameters) {
      fail_at(entry, fmt::format("got {}, expected a group of columns of a whole kernel: static, "
                                 "ops, shape, tile, prior, machine, code, alignment, tile_bounds "
                                 "or curve",
                                 hwdesc::show_text(text)));
    }
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace

HybridSpec read_hybrid(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {name: ...}");
  allow_only(node, {"name", "features", "trial_by", "members", "guard", "seed"});
  HybridSpec spec{.name = text(node, "name")};
  if (const ConfigNode* groups = node.find("features")) spec.features = read_groups(*groups);
  if (const ConfigNode* guard = node.find("guard"); guard && choice(*guard, kNoOrYes) == 0) {
    spec.belief = Belief::kEverything;
  }
  if (const ConfigNode* by = node.find("trial_by")) {
    spec.trial_by = static_cast<learned::ValidateBy>(choice(*by, learned::kValidateBy));
  }
  read_number(node, "members", kLeastMembers, kMostMembers, spec.members);
  read_number(node, "seed", 0, UINT32_MAX, spec.seed);
  return spec;
}

}  // namespace tilecast::hybrid
