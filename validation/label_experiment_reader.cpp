#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_values.h"
#include "learned/model_card_yaml.h"
#include "measured/importers/import_manifest.h"
#include "sim/training/training_file.h"
#include "validation/label_experiment.h"

namespace tilecast::validation {
namespace {

using hwdesc::ConfigNode;

constexpr std::string_view kLabelFormat = "tilecast.label_experiment/1";
constexpr std::size_t kMostLabelSeeds = 100, kMostLabelRows = 10'000'000;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;

double share_of(const ConfigNode& node) {
  const std::optional<double> share = hwdesc::fraction(text_of(node));
  if (!share || !(*share > 0) || !(*share < 1)) {
    fail_at(node, fmt::format("got {}, expected a share such as '10 %'", text_of(node)));
  }
  return *share;
}

void read_label_split(const ConfigNode& node, LabelExperiment& experiment) {
  allow_only(node, {"by", "test", "seed", "seeds"});
  if (const ConfigNode* by = node.find("by")) {
    experiment.by = static_cast<learned::ValidateBy>(choice(*by, learned::kValidateBy));
  }
  if (const ConfigNode* test = node.find("test")) experiment.test = share_of(*test);
  read_number(node, "seed", 0, UINT32_MAX, experiment.seed);
  read_number(node, "seeds", 1, kMostLabelSeeds, experiment.seeds);
}

learned::Target read_label_target(const ConfigNode& node) {
  allow_only(node, {"name", "scale"});
  learned::Target target = learned::target_of_setting(
      text(node, "name") == learned::kRuntime ? "time" : text(node, "name"));
  if (const ConfigNode* scale = node.find("scale")) {
    if (target.is_time()) fail_at(*scale, "times are learned as logarithms");
    target.scale = static_cast<learned::TargetScale>(choice(*scale, learned::kTargetScales));
  }
  return target;
}

LabelBar read_label_bar(const ConfigNode& node, const LabelExperiment& experiment) {
  allow_only(node, {"target", "learner", "physics", "metric", "at_most", "at_least"});
  LabelBar bar{.target = text(node, "target"), .learner = text(node, "learner")};
  bar.metric = static_cast<LabelMetric>(choice(required(node, "metric"), kLabelMetrics));
  bar.limit = share_of(required(node, bar.metric == LabelMetric::kRmse ? "at_most" : "at_least"));
  if (const ConfigNode* physics = node.find("physics")) {
    constexpr std::string_view kNoYes[] = {"no", "yes"};
    bar.physics = choice(*physics, kNoYes) == 1;
  }
  const auto is_target = [&](const learned::Target& target) {
    return target.quantity == bar.target;
  };
  const auto is_learner = [&](const learned::LearnerSpec& learner) {
    return learner.name == bar.learner;
  };
  if (std::ranges::none_of(experiment.targets, is_target)) {
    fail_at(*node.find("target"), "is none of the targets");
  }
  if (std::ranges::none_of(experiment.learners, is_learner)) {
    fail_at(*node.find("learner"), "is none of the learners");
  }
  return bar;
}

}  // namespace

bool is_label_experiment(const std::string& file) {
  const auto source = base::SourceText::read_file(file, kMostFileBytes);
  return source.text().find(fmt::format("format: {}", kLabelFormat)) != std::string_view::npos;
}

LabelExperiment read_label_experiment(const std::string& file) {
  const auto source = base::SourceText::read_file(file, kMostFileBytes);
  return parse_label_experiment(std::string(source.text()), file);
}

LabelExperiment parse_label_experiment(const std::string& text, const std::string& file) {
  const ConfigNode root = hwdesc::read_config(text, file);
  allow_only(root, {"format", "name", "claim", "device", "set", "rows", "split", "targets",
                    "physics", "learners", "bars"});
  static_cast<void>(choice(required(root, "format"), std::span(&kLabelFormat, 1)));
  LabelExperiment experiment{.file = file,
                             .name = hwdesc::text(root, "name"),
                             .claim = hwdesc::text(root, "claim"),
                             .device = {},
                             .set = {}};
  const auto folder = std::filesystem::path(file).parent_path();
  experiment.device = measured::resolve_device(hwdesc::text(root, "device"), folder.string());
  experiment.set = (folder / hwdesc::text(root, "set")).lexically_normal().string();
  read_number(root, "rows", 8, kMostLabelRows, experiment.rows);
  if (const ConfigNode* split = root.find("split")) read_label_split(*split, experiment);
  for (const ConfigNode& target : list(required(root, "targets"))) {
    experiment.targets.push_back(read_label_target(target));
  }
  if (const ConfigNode* physics = root.find("physics")) {
    experiment.physics = learned::feature_groups(*physics);
  }
  for (const ConfigNode& learner : sim::training::learner_entries(required(root, "learners"))) {
    if (learner.find("target") != nullptr || learner.find("target_scale") != nullptr) {
      fail_at(learner, "target: that of the experiment; leave it out");
    }
    experiment.learners.push_back(learned::read_learner(learner));
  }
  if (const ConfigNode* bars = root.find("bars")) {
    for (const ConfigNode& bar : list(*bars)) {
      experiment.bars.push_back(read_label_bar(bar, experiment));
    }
  }
  return experiment;
}

}  // namespace tilecast::validation
