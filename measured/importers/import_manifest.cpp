#include "measured/importers/import_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/archive.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "measured/manifest.h"

namespace tilecast::measured {
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

// Checks that the device exists, so that the imported set can be read.
void check_device(const ConfigNode& at, std::string& device) {
  try {
    device = resolve_device(device, "");
  } catch (const Error& error) {
    fail_at(at, error.what());
  }
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

}  // namespace

std::string resolve_device(const std::string& name_or_path, const std::string& folder) {
  if (!hwdesc::is_path(name_or_path)) {
    static_cast<void>(hwdesc::preset_path(name_or_path));
    return name_or_path;
  }
  const fs::path whole = fs::absolute(fs::path(folder) / name_or_path).lexically_normal();
  if (!base::is_file(whole.string())) {
    throw Error(fmt::format("{}: no such description of a device", whole.string()));
  }
  static_cast<void>(hwdesc::load_device(whole.string()));
  return whole.string();
}

ConfigNode read_mapping_file(const std::string& name_or_path) {
  const std::string path = find_mapping(name_or_path);
  const auto text = base::SourceText::read_file(path, hwdesc::kMaxConfigBytes);
  ConfigNode root = hwdesc::read_config(std::string(text.text()), path);
  if (root.at.file.empty()) root.at = {path, 1, 1};
  return root;
}

Manifest read_import_manifest(const std::string& name_or_path, const ImportOptions& options,
                              const std::string& input) {
  if (name_or_path.empty()) {
    if (options.device.empty()) throw Error("expected a mapping, or a device");
    Manifest manifest;
    manifest.name = fs::path(input).stem().string();
    manifest.source = fs::path(input).filename().string();
    manifest.licence = manifest.how_timed = "not given";
    return manifest;
  }
  const ConfigNode root = read_mapping_file(name_or_path);
  Manifest manifest = read_manifest_fields(root, {});
  if (manifest.device.empty() && manifest.devices.empty() && options.device.empty())
    fail_at(root, "device is missing");
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

}  // namespace tilecast::measured
