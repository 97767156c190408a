#include "learned/importers/import_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "diag/error.h"
#include "diag/source_text.h"
#include "hwdesc/device_yaml.h"
#include "learned/manifest.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

fs::path shipped_folder() {
  const std::vector<std::string> presets = hwdesc::preset_names();
  if (presets.empty()) return {};
  return fs::path(hwdesc::preset_path(presets.front())).parent_path().parent_path() / "imports";
}

std::vector<std::string> shipped_mappings() {
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(shipped_folder(), failure)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Only devices there are: an import should not write a set that nobody can read.
void check_device(const ConfigNode& at, std::string& device) {
  try {
    device = resolve_device(device, "");
  } catch (const Error& error) {
    fail_at(at, error.what());
  }
}

}  // namespace

void fail_at(const ConfigNode& at, const std::string& message) {
  throw Error(
      fmt::format("{}: {}{}{}", at.at.describe(), at.key, at.key.empty() ? "" : ": ", message));
}

const std::string& text_of(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kScalar || node.scalar.empty())
    fail_at(node, "expected a text");
  return node.scalar;
}

void allow_only(const ConfigNode& node, const std::vector<std::string_view>& keys) {
  if (!node.is_mapping()) fail_at(node, "expected a mapping");
  for (const ConfigNode& child : node.children) {
    if (std::find(keys.begin(), keys.end(), child.key) != keys.end()) continue;
    const std::string near = diag::nearest(child.key, keys);
    fail_at(child, fmt::format("unknown key; expected {}{}", fmt::join(keys, ", "),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
}

std::string resolve_device(const std::string& name_or_path, const std::string& folder) {
  if (!hwdesc::is_path(name_or_path)) {
    static_cast<void>(hwdesc::preset_path(name_or_path));
    return name_or_path;
  }
  const fs::path whole = fs::absolute(fs::path(folder) / name_or_path).lexically_normal();
  std::error_code failure;
  if (!fs::is_regular_file(whole, failure)) {
    throw Error(fmt::format("{}: no such description of a device", whole.string()));
  }
  return whole.string();
}

std::string find_mapping(const std::string& name) {
  if (hwdesc::is_path(name)) return name;
  const std::vector<std::string> shipped = shipped_mappings();
  if (std::find(shipped.begin(), shipped.end(), name) != shipped.end()) {
    return (shipped_folder() / (name + ".yaml")).string();
  }
  throw Error(
      fmt::format("mapping '{}': there is none of this name; shipped are {}; or give the "
                  "path of a .yaml file",
                  name, fmt::join(shipped, ", ")));
}

ConfigNode read_mapping_file(const std::string& name_or_path) {
  const std::string path = find_mapping(name_or_path);
  const auto text = diag::SourceText::read_file(path, hwdesc::kMaxConfigBytes);
  ConfigNode root = hwdesc::read_config(std::string(text.text()), path);
  if (root.at.file.empty()) root.at = {path, 1, 1};
  return root;
}

Manifest read_import_manifest(const std::string& name_or_path) {
  const ConfigNode root = read_mapping_file(name_or_path);
  Manifest manifest = read_manifest_fields(root, {});
  if (manifest.device.empty()) fail_at(root, "device is missing");
  return manifest;
}

Manifest read_manifest_fields(const ConfigNode& root, const std::vector<std::string_view>& others) {
  Manifest manifest = manifest_of(root, fs::path(root.at.file).parent_path().string(), others);
  if (manifest.how_timed.empty()) fail_at(root, "how_timed is missing");
  if (const ConfigNode* node = root.find("device")) check_device(*node, manifest.device);
  if (const ConfigNode* node = root.find("devices")) {
    for (auto& [cell, device] : manifest.devices) check_device(*node, device);
  }
  return manifest;
}

}  // namespace tilecast::learned
