#include "hwdesc/config_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"

namespace tilecast::hwdesc {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 5> kNotInherited = {"name", "description", "profile_names",
                                                           "extends", "published"};
constexpr std::array<std::string_view, 2> kSharedBlocks = {"memory", "transfer"};

bool is_number_or_flag(const ConfigNode& node) {
  if (node.kind != Kind::kScalar || node.scalar.empty()) return false;
  const char first = node.scalar.front();
  return (first >= '0' && first <= '9') || first == '-' || node.scalar == "true" ||
         node.scalar == "false";
}

// Whether the mapping has a number of its own, not counting blocks with their own source.
bool overrides_numbers(const ConfigNode& parent, const ConfigNode& child) {
  return std::any_of(child.children.begin(), child.children.end(), [&](const ConfigNode& entry) {
    if (entry.key == "estimated") return false;
    if (!entry.is_mapping()) return is_number_or_flag(entry);
    const ConfigNode* inherited = parent.find(entry.key);
    if (entry.find("source") || (inherited && inherited->find("source"))) return false;
    return inherited && inherited->is_mapping() && overrides_numbers(*inherited, entry);
  });
}

// If the child names every entry, its order wins: a memory chain can be reordered.
void reorder_like(ConfigNode& merged, const ConfigNode& child) {
  const bool complete =
      std::all_of(merged.children.begin(), merged.children.end(),
                  [&](const ConfigNode& entry) { return child.find(entry.key) != nullptr; });
  if (!complete) return;
  std::vector<ConfigNode> ordered;
  for (const ConfigNode& entry : child.children) {
    if (ConfigNode* found = merged.find(entry.key)) ordered.push_back(std::move(*found));
  }
  merged.children = std::move(ordered);
}

void merge_into(ConfigNode& parent, const ConfigNode& child) {
  if (overrides_numbers(parent, child)) parent.erase("source");  // not of the new numbers
  if (child.find("source")) parent.erase("estimated");
  parent.at = child.at;
  for (const ConfigNode& entry : child.children) {
    ConfigNode* inherited = parent.find(entry.key);
    if (!inherited) {
      if (entry.kind != Kind::kNull) parent.children.push_back(entry);
    } else if (entry.kind == Kind::kNull) {
      parent.erase(entry.key);
    } else if (entry.is_mapping() && inherited->is_mapping()) {
      merge_into(*inherited, entry);
    } else if (entry.key == "source" || entry.kind != Kind::kScalar ||
               entry.scalar != inherited->scalar) {  // a repeated number keeps its origin
      *inherited = entry;
    }
  }
  reorder_like(parent, child);
}

std::vector<std::string> split_path(const std::string& path, const Origin& at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool empty_part =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  constexpr std::size_t kMaxParts = 8;
  if (empty_part || parts.size() > kMaxParts) {
    throw Error(fmt::format("{}: got the key {}, expected a path such as hbm.bandwidth",
                            at.describe(), show_text(path)));
  }
  return parts;
}

ConfigNode override_value(const std::string& value, const Origin& at) {
  require_plain_text(value, at);
  const bool flow = value.starts_with('[') || value.starts_with('{');
  ConfigNode node;
  if (flow) {
    node = read_config(value, at.describe());
  } else if (value != "null") {
    node.kind = Kind::kScalar;
    node.scalar = value;
  }
  node.at = at;
  return node;
}

// The mapping that contains the first word of a path: the top level, or `memory:` or `transfer:` if
// they have a block of that name.
ConfigNode& home_of(ConfigNode& root, const std::string& first) {
  if (root.find(first)) return root;
  for (const std::string_view shared : kSharedBlocks) {
    ConfigNode* blocks = root.find(shared);
    if (blocks && blocks->find(first)) return *blocks;
  }
  return root;
}

ConfigNode& child_mapping(ConfigNode& parent, const std::string& key, const Origin& at) {
  if (ConfigNode* found = parent.find(key)) {
    if (found->is_mapping()) return *found;
    throw Error(fmt::format("{}: {} is a value, expected a block to set a key in", at.describe(),
                            show_text(key)));
  }
  ConfigNode made;
  made.kind = Kind::kMapping;
  made.key = key;
  made.at = at;
  parent.children.push_back(std::move(made));
  return parent.children.back();
}

}  // namespace

ConfigNode merge(ConfigNode parent, const ConfigNode& child) {
  for (const std::string_view key : kNotInherited) parent.erase(key);
  merge_into(parent, child);
  return parent;
}

void apply_override(ConfigNode& root, const std::string& path, const std::string& value) {
  const Origin at{fmt::format("--set {}", path), 0, 0};
  const std::vector<std::string> parts = split_path(path, at);
  ConfigNode* block = &home_of(root, parts.front());
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) block = &child_mapping(*block, parts[i], at);
  ConfigNode node = override_value(value, at);
  node.key = parts.back();
  ConfigNode* existing = block->find(node.key);
  if (node.kind == Kind::kNull) {
    block->erase(node.key);
  } else if (existing) {
    *existing = std::move(node);
  } else {
    block->children.push_back(std::move(node));
  }
}

}  // namespace tilecast::hwdesc
