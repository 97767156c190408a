#include "hybrid/hybrid_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDomain = "domain.csv";
constexpr const char* kTrust = "trust.yaml";

std::string device_file(std::size_t i) {
  return fmt::format("device_{}.yaml", i);
}

std::string path_of(const std::string& directory, const std::string& file) {
  return (fs::path(directory) / file).string();
}

const std::string& file_text(const learned::ExtraFiles& files, const std::string& file,
                             const std::string& directory) {
  const auto found = files.find(file);
  if (found != files.end()) return found->second;
  throw Error(fmt::format("{}: files: {} is missing; every hybrid has one",
                          path_of(directory, "model.yaml"), file));
}

// A folder is data from anywhere: its descriptions may build on shipped ones, not on files of the
// reader's machine.
void require_no_path(const std::string& text, const std::string& file) {
  if (text.find("extends") == std::string::npos) return;
  const hwdesc::ConfigNode root = hwdesc::read_config(text, file);
  const hwdesc::ConfigNode* const parent = root.find("extends");
  if (parent == nullptr || !hwdesc::is_path(parent->scalar)) return;
  throw Error(
      fmt::format("{}: extends: got {}, expected a shipped description; a model's folder "
                  "names no file outside it",
                  parent->at.describe(), hwdesc::show_text(parent->scalar)));
}

// Models that were saved before `fitted_by` say it in the source.
hwdesc::Device read_device(const std::string& text, const std::string& path) {
  hwdesc::Device device = hwdesc::parse_device(text, path);
  hwdesc::Calibration& constants = device.calibration;
  if (constants.source.starts_with("hybrid ")) constants.fitted_by = hwdesc::FittedBy::kHybrid;
  return device;
}

// The name of a description that begins with it, as print_device() writes it; "" of others.
std::string first_name(std::string_view text) {
  constexpr std::string_view kStart = "name: \"";
  if (!text.starts_with(kStart)) return "";
  text.remove_prefix(kStart.size());
  const std::size_t end = std::min(text.find_first_of("\"\\\n"), text.size());
  const bool plain = text.substr(end).starts_with("\"\n");
  return plain ? std::string(text.substr(0, end)) : "";
}

// Those of the folder, in order.
KnownDevices devices_of(const learned::ExtraFiles& files, const std::string& directory) {
  KnownDevices devices;
  const auto numbered = static_cast<std::size_t>(std::ranges::count_if(
      files, [](const auto& file) { return file.first.starts_with("device_"); }));
  for (std::size_t i = 0; i < numbered; ++i) {
    const std::string file = device_file(i), path = path_of(directory, file);
    const std::string& text = file_text(files, file, directory);
    require_no_path(text, path);
    if (std::string name = first_name(text); !name.empty()) {
      devices.add(std::move(name), [text, path] { return read_device(text, path); });
    } else {
      devices.add(read_device(text, path));
    }
  }
  return devices;
}

// What the domain calls known must be described.
void require_devices(const HybridParts& parts, const std::string& directory) {
  for (const std::string& name : parts.domain.devices()) {
    if (parts.devices.has(name)) continue;
    throw Error(fmt::format("{}: device '{}' is described by no device_N.yaml",
                            path_of(directory, kDomain), name));
  }
}

}  // namespace

void save_hybrid(const learned::ModelCard& card, const HybridParts& parts,
                 const std::string& training_csv, const std::string& directory, bool force) {
  learned::ModelFiles files{
      .card = card, .predictor = parts.residual.get(), .training_csv = training_csv};
  files.card.hybrid = true;
  files.extra = {{kDomain, parts.domain.save()}, {kTrust, parts.trust.save()}};
  if (parts.devices.size() > kMostDevices) {
    throw Error(fmt::format("{}: {} devices, expected at most {}", directory, parts.devices.size(),
                            kMostDevices));
  }
  for (std::size_t i = 0; i < parts.devices.size(); ++i) {
    files.extra[device_file(i)] = hwdesc::print_device(parts.devices[i]);
  }
  learned::save_model(files, directory, force);
}

LoadedHybrid load_hybrid(const std::string& directory) {
  HybridParts parts;
  const auto read_parts = [&](const learned::LoadedModel& loaded) {
    if (!loaded.card.hybrid) {
      throw Error(fmt::format("{}: is a model without physics around it; expected a hybrid",
                              path_of(directory, "model.yaml")));
    }
    const std::string domain = path_of(directory, kDomain), trust = path_of(directory, kTrust);
    parts.domain = Domain::load(file_text(loaded.extra, kDomain, directory), domain);
    parts.trust = Trust::load(file_text(loaded.extra, kTrust, directory), trust);
    parts.devices = devices_of(loaded.extra, directory);
    require_devices(parts, directory);
  };
  learned::LoadedModel loaded = learned::load_model(directory, read_parts);
  if (loaded.predictor) learned::require_times(*loaded.predictor, directory);
  if (loaded.predictor && loaded.predictor->ranks_only()) {
    throw Error(fmt::format("{}: only ranks the tiles of a kernel; a hybrid corrects times",
                            path_of(directory, "model.yaml")));
  }
  parts.residual = std::move(loaded.predictor);
  return {.card = std::move(loaded.card), .parts = std::move(parts)};
}

std::string device_path(const std::string& directory, std::size_t device) {
  return path_of(directory, device_file(device));
}

bool is_hybrid_directory(const std::string& path) {
  std::error_code failed;
  return learned::is_model_directory(path) && fs::is_regular_file(path_of(path, kTrust), failed);
}

}  // namespace tilecast::hybrid
