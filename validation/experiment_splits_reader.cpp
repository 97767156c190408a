#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hwdesc/config_reader.h"
#include "measured/importers/import_manifest.h"
#include "validation/experiment_nodes.h"
#include "validation/experiment_splits.h"

namespace tilecast::validation {
namespace {

using hwdesc::ConfigNode;

// By SplitKind: its name, and its keys besides `kind`. Shares, works and the rows of sampled_rows
// are required where they are known.
struct KindKeys {
  std::string_view name;
  std::array<std::string_view, 4> keys = {};
};
constexpr KindKeys kKinds[] = {{"none"},
                               {"fixed", {"share", "seeds", "seed"}},
                               {"k_fold", {"folds", "seed"}},
                               {"largest", {"share", "seeds", "seed"}},
                               {"leave_one_class_out"},
                               {"leave_one_family_out", {"works", "seed"}},
                               {"leave_one_kernel_out"},
                               {"leave_one_device_out", {"rows", "seeds", "seed"}},
                               {"sampled_rows", {"rows", "seeds", "seed"}},
                               {"sampled_works", {"works", "seeds", "seed"}},
                               {"held_out_families", {"share", "seeds", "seed", "rows"}},
                               {"held_out_works", {"share", "seeds", "seed", "rows"}},
                               {"first_rows", {"share", "seeds", "seed"}}};

// Of what is fitted it may be all; of what is scored or first, something is left for the others.
double share_of(const ConfigNode& node, bool may_be_all) {
  const std::optional<double> value = hwdesc::fraction(text_of(node));
  if (!value || *value <= 0 || *value > 1 || (*value == 1 && !may_be_all)) {
    fail_at(node,
            fmt::format("got {}, expected more than 0 % and {} 100 %",
                        hwdesc::show_text(node.scalar), may_be_all ? "at most" : "less than"));
  }
  return *value;
}

}  // namespace

std::string_view name(SplitKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].name;
}

Apart apart(SplitKind kind) {
  if (kind == SplitKind::kSampledRows || kind == SplitKind::kFirstRows) return Apart::kRows;
  return kind == SplitKind::kLeaveOneDeviceOut ? Apart::kWorksOnDevice : Apart::kWorks;
}

SplitSpec read_split(const ConfigNode& node) {
  if (!node.is_mapping()) fail_at(node, "expected {kind: ...}");
  std::vector<std::string_view> names, keys;
  for (const KindKeys& kind : kKinds) names.push_back(kind.name);
  SplitSpec split;
  split.kind = static_cast<SplitKind>(choice(required(node, "kind"), names));
  for (const std::string_view key : kKinds[static_cast<std::size_t>(split.kind)].keys) {
    if (!key.empty()) keys.push_back(key);
  }
  keys.push_back("kind");
  allow_only(node, keys);
  const auto has = [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); };
  if (split.kind == SplitKind::kFixed && node.find("share") == nullptr) {
    split.share = 1;
  } else if (has("share")) {
    split.share = share_of(required(node, "share"), split.kind == SplitKind::kFixed);
  }
  if (has("works")) split.works = whole_number(required(node, "works"), 1, kMostRows);
  if (split.kind == SplitKind::kSampledRows) static_cast<void>(required(node, "rows"));
  read_number(node, "rows", 1, kMostRows, split.rows);
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
