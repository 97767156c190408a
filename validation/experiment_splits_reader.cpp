#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hwdesc/config_reader.h"
#include "measured/importers/import_manifest.h"
#include "validation/experiment_nodes.h"

namespace tilecast::validation {
namespace {

using hwdesc::ConfigNode;

constexpr std::string_view kSplitNames[] = {"none",
                                            "fixed",
                                            "k_fold",
                                            "largest",
                                            "leave_one_class_out",
                                            "leave_one_family_out",
                                            "leave_one_kernel_out",
                                            "leave_one_device_out",
                                            "sampled_rows",
                                            "sampled_works",
                                            "held_out_families",
                                            "held_out_works",
                                            "first_rows"};

// Besides `kind`. Shares, works and rows are required where they are known.
std::vector<std::string_view> keys_of(SplitKind kind) {
  switch (kind) {
    case SplitKind::kNone:
    case SplitKind::kLeaveOneClassOut:
    case SplitKind::kLeaveOneKernelOut:
    case SplitKind::kLeaveOneDeviceOut:
      return {};
    case SplitKind::kFixed:
      return {"seeds", "seed"};
    case SplitKind::kKFold:
      return {"folds", "seed"};
    case SplitKind::kLeaveOneFamilyOut:
      return {"works", "seed"};
    case SplitKind::kSampledRows:
      return {"rows", "seeds", "seed"};
    case SplitKind::kSampledWorks:
      return {"works", "seeds", "seed"};
    case SplitKind::kLargest:
    case SplitKind::kHeldOutFamilies:
    case SplitKind::kHeldOutWorks:
    case SplitKind::kFirstRows:
      return {"share", "seeds", "seed"};
  }
  return {};
}

double share_of(const ConfigNode& node) {
  const std::optional<double> value = hwdesc::fraction(text_of(node));
  if (!value || *value <= 0 || *value >= 1) {
    fail_at(node, fmt::format("got {}, expected more than 0 % and less than 100 %",
                              hwdesc::show_text(node.scalar)));
  }
  return *value;
}

}  // namespace

std::string_view name(SplitKind kind) {
  return kSplitNames[static_cast<std::size_t>(kind)];
}

SplitSpec read_split(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {kind: ...}");
  SplitSpec split;
  split.kind = static_cast<SplitKind>(choice(required(node, "kind"), kSplitNames));
  std::vector<std::string_view> keys = keys_of(split.kind);
  keys.push_back("kind");
  allow_only(node, keys);
  const auto has = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  if (has("share")) split.share = share_of(required(node, "share"));
  if (has("works")) split.works = whole_number(required(node, "works"), 1, kMostRows);
  if (has("rows")) split.rows = whole_number(required(node, "rows"), 1, kMostRows);
  read_number(node, "folds", 2, kMostSeeds, split.folds);
  read_number(node, "seeds", 1, kMostSeeds, split.seeds);
  read_number(node, "seed", 0, UINT32_MAX, split.seed);
  return split;
}

std::vector<Selector> read_selectors(const ConfigNode& root, std::string_view key,
                                     const std::vector<ExperimentSource>& data) {
  std::vector<Selector> selectors;
  const ConfigNode* node = root.find(key);
  if (!node) return selectors;
  for (const ConfigNode& entry : list(*node)) {
    allow_only(entry, {"set", "class", "kernel", "family", "at_least"});
    Selector selector{.classes = optional_texts(entry, "class"),
                      .kernels = optional_texts(entry, "kernel"),
                      .families = optional_texts(entry, "family")};
    if (const ConfigNode* least = entry.find("at_least")) {
      selector.at_least_s = seconds_of(*least);
    }
    if (const ConfigNode* set = entry.find("set")) {
      selector.set = text_of(*set);
      if (std::ranges::find(data, selector.set, &ExperimentSource::name) == data.end()) {
        fail_at(*set,
                fmt::format("no source of data is called {}", hwdesc::show_text(selector.set)));
      }
    }
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

}  // namespace tilecast::validation
