#include "hwdesc/device_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_merge.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_reader.h"

namespace tilecast::hwdesc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxChain = 8;
constexpr std::string_view kExtension = ".yaml";

std::vector<fs::path> preset_folders() {
  std::vector<fs::path> folders;
  if (const char* chosen = std::getenv("TILECAST_DEVICES"); chosen && *chosen) {
    folders.emplace_back(chosen);
    return folders;
  }
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    folders.push_back(executable.parent_path().parent_path() / "share/tilecast/devices");
  }
  folders.emplace_back(TILECAST_DEVICE_DIR);
  folders.emplace_back(TILECAST_INSTALLED_DEVICE_DIR);
  return folders;
}

fs::path preset_folder() {
  const std::vector<fs::path> folders = preset_folders();
  std::string tried;
  for (const fs::path& folder : folders) {
    std::error_code failed;
    if (fs::is_directory(folder, failed)) return folder;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", folder.string());
  }
  throw Error(
      fmt::format("device presets: no folder holds them; tried {}; set TILECAST_DEVICES", tried));
}

std::string read_text(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    throw Error(fmt::format("{}: got a folder, expected a device description", path));
  }
  return std::string(base::SourceText::read_file(path, kMaxConfigBytes).text());
}

std::string identity(const std::string& path) {
  std::error_code failed;
  const fs::path canonical = fs::weakly_canonical(path, failed);
  return failed ? path : canonical.string();
}

std::string parent_path(const ConfigNode& extends, const std::string& file) {
  if (extends.kind != ConfigNode::Kind::kScalar || extends.scalar.empty()) {
    throw Error(fmt::format("{}: extends: expected a preset's name or a path such as ../base.yaml",
                            extends.at.describe()));
  }
  try {
    if (!is_path(extends.scalar)) return preset_path(extends.scalar);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: extends: {}", extends.at.describe(), error.what()));
  }
  return (fs::path(file).parent_path() / extends.scalar).lexically_normal().string();
}

std::string stem(const std::string& file) {
  return fs::path(file).stem().string();
}

std::string name_of(const ConfigNode& root, const std::string& file) {
  const ConfigNode* name = root.find("name");
  return name && !name->scalar.empty() ? name->scalar : stem(file);
}

// Whether a description leaves the machine of its parent as it is.
bool only_calibrates(const ConfigNode& root) {
  constexpr std::string_view kKeys[] = {"extends", "name", "description", "calibration"};
  return std::ranges::all_of(root.children, [&](const ConfigNode& child) {
    return std::ranges::find(kKeys, child.key) != std::end(kKeys);
  });
}

// The tree of `text` laid over those it extends. `chain` holds the files on the way here; `lineage`
// gets Device::lineage.
ConfigNode read_chain(const std::string& text, const std::string& file,
                      std::vector<std::string>& chain, std::vector<std::string>& lineage) {
  ConfigNode root = read_config(text, file);
  const ConfigNode* extends = root.find("extends");
  if (!extends) return root;
  const std::string parent = parent_path(*extends, file);
  const std::string parent_identity = identity(parent);
  const std::string where = extends->at.describe();
  if (std::ranges::find(chain, parent_identity) != chain.end()) {
    throw Error(fmt::format("{}: extends: '{}' extends itself: {} -> {}", where, extends->scalar,
                            fmt::join(chain, " -> "), parent_identity));
  }
  if (chain.size() > kMaxChain) {
    throw Error(fmt::format("{}: extends: got a chain of more than {} files", where, kMaxChain));
  }
  chain.push_back(parent_identity);
  ConfigNode inherited;
  try {
    inherited = read_chain(read_text(parent), parent, chain, lineage);
  } catch (const Error& error) {
    throw Error(fmt::format("{}\n  extended by {}", error.what(), where));
  }
  root.erase("extends");
  if (!inherited.is_mapping()) {
    throw Error(fmt::format("{}: extends: {} is no device description", where, parent));
  }
  if (only_calibrates(root)) {
    lineage.insert(lineage.begin(), name_of(inherited, parent));
  } else {
    lineage.clear();
  }
  return merge(std::move(inherited), root);
}

// Of every value besides what the description is called and its fitted constants.
std::size_t machine_of(const Device& device) {
  std::string values;
  for (const auto& [path, value] : flatten(device)) {
    if (path == "name" || path == "description" || path.starts_with("calibration.")) continue;
    values += path + "=" + value + "\n";
  }
  return std::hash<std::string>()(values);
}

}  // namespace

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kExtension);
}

Device parse_device(const std::string& text, const std::string& file, const Overrides& overrides) {
  std::vector<std::string> chain = {identity(file)};
  std::vector<std::string> lineage;
  ConfigNode root = read_chain(text, file, chain, lineage);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  if (root.is_mapping()) {
    for (const auto& [path, value] : overrides) apply_override(root, path, value);
  }
  Device device = read_device(root);
  device.file = file;
  device.lineage = std::move(lineage);
  if (device.name.empty()) device.name = stem(file);
  device.machine = machine_of(device);
  return device;
}

Device load_device(const std::string& name_or_path, const Overrides& overrides) {
  const std::string path = is_path(name_or_path) ? name_or_path : preset_path(name_or_path);
  return parse_device(read_text(path), path, overrides);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(preset_folder(), failed)) {
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string preset_path(const std::string& name) {
  const std::vector<std::string> names = preset_names();
  if (std::ranges::find(names, name) != names.end()) {
    return (preset_folder() / (name + std::string(kExtension))).string();
  }
  const std::string near = base::nearest(name, {names.begin(), names.end()});
  throw Error(fmt::format("device {}: no such preset; {}presets: {}; or a path to a .yaml file",
                          show_text(name), near.empty() ? "" : "did you mean '" + near + "'? ",
                          fmt::join(names, ", ")));
}

}  // namespace tilecast::hwdesc
