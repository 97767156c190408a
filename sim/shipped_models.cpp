#include "sim/shipped_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "learned/model_card_yaml.h"
#include "sim/model_choice.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "TILECAST_MODELS";

// A folder of models, and its path in reports, which is independent of this machine.
struct ModelDirectory {
  fs::path path;
  std::string display_path;
};

std::optional<ModelDirectory> model_directory() {
  std::error_code failed;
  if (const char* chosen = std::getenv(kVariable); chosen && *chosen) {
    if (fs::is_directory(chosen, failed)) return ModelDirectory{chosen, chosen};
    throw Error(fmt::format("{}: got '{}', expected a folder of models", kVariable, chosen));
  }
  constexpr const char* kInstalled = "share/tilecast/models";
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  const ModelDirectory candidates[] = {
      {executable.parent_path().parent_path() / kInstalled, kInstalled},
      {TILECAST_MODEL_DIR, "configs/models"},
      {TILECAST_INSTALLED_MODEL_DIR, kInstalled}};
  const auto* found = std::ranges::find_if(candidates, [&](const ModelDirectory& candidate) {
    return fs::is_directory(candidate.path, failed);
  });
  if (found == std::end(candidates)) return std::nullopt;
  return *found;
}

base::SourceText card_text(const std::string& directory) {
  return base::SourceText::read_file(directory + "/model.yaml", hwdesc::kMaxConfigBytes);
}

// The line of a card that lists its devices, after as many empty lines as precede it, so that
// errors have the right line number; "" if the list takes several lines.
std::string device_line(std::string_view card) {
  const std::size_t at = card.find("\ndevices: [");
  if (at == std::string_view::npos) return "";
  const std::string_view line = card.substr(at + 1, card.find('\n', at + 1) - at - 1);
  if (!line.ends_with(']')) return "";
  const auto before = std::ranges::count(card.substr(0, at + 1), '\n');
  return std::string(static_cast<std::size_t>(before), '\n').append(line);
}

// Parses only that line if possible: reading a whole card takes 2 ms.
std::vector<std::string> devices_of(const base::SourceText& card) {
  if (const std::string line = device_line(card.text()); !line.empty()) {
    std::vector<std::string> names;
    const hwdesc::ConfigNode root = hwdesc::read_config(line, card.file());
    for (const hwdesc::ConfigNode& name : root.find("devices")->children) {
      names.push_back(name.scalar);
    }
    return names;
  }
  return learned::read_model_yaml(std::string(card.text()), card.file()).card.devices;
}

// Whether the card's text contains the name of the device or of one in its lineage; much cheaper
// than reading the card.
bool may_know(const base::SourceText& card, const hwdesc::Device& device) {
  const auto has = [&](const std::string& name) {
    return card.text().find(name) != std::string_view::npos;
  };
  return has(device.name) || std::ranges::any_of(device.lineage, has);
}

// The model trained nearest to the device among those trained on it or on one of its lineage; they
// are preferred to models of its kind.
std::optional<std::string> shipped_for_lineage(const std::vector<std::string>& directories,
                                               const hwdesc::Device& device) {
  std::optional<std::size_t> least;
  std::optional<std::string> nearest;
  for (const std::string& directory : directories) {
    const base::SourceText card = card_text(directory);
    if (!may_know(card, device)) continue;
    const auto distance = device.lineage_distance(devices_of(card));
    if (!distance || (least && *least <= *distance)) continue;
    least = distance;
    nearest = directory;
  }
  return nearest;
}

}  // namespace

std::string display_path(const std::string& directory) {
  const std::optional<ModelDirectory> shipped = model_directory();
  const fs::path path(directory);
  if (!shipped || path.parent_path() != shipped->path) return directory;
  return shipped->display_path + "/" + path.filename().string();
}

std::vector<std::string> trained_on(const std::string& directory) {
  return devices_of(card_text(directory));
}

Trained::Trained(const std::string& directory)
    : devices(trained_on(directory)),
      execution(hwdesc::load_device(hybrid::device_path(directory, 0)).execution) {}

std::optional<std::size_t> Trained::distance(const hwdesc::Device& device) const {
  if (const auto near = device.lineage_distance(devices)) return near;
  constexpr std::size_t kKind = 1000;
  const bool of_kind = devices.size() > 1 && execution == device.execution;
  return of_kind ? std::optional(kKind) : std::nullopt;
}

std::optional<std::size_t> nearest_match(std::span<const Trained* const> candidates,
                                         const hwdesc::Device& device) {
  std::optional<std::size_t> best, least;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto distance = candidates[i]->distance(device);
    if (!distance || (least && *least <= *distance)) continue;
    least = distance;
    best = i;
  }
  return best;
}

std::vector<std::string> shipped_models() {
  std::vector<std::string> directories;
  const std::optional<ModelDirectory> shipped = model_directory();
  if (!shipped) return directories;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped->path, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string directory = (shipped->path / name).string();
    if (name.starts_with('.')) continue;  // still being written
    if (hybrid::is_hybrid_directory(directory)) directories.push_back(directory);
  }
  std::ranges::sort(directories);
  return directories;
}

std::string shipped_advice() {
  const std::optional<ModelDirectory> shipped = model_directory();
  if (!shipped) return "";
  const fs::path folder = shipped->path / "advice";
  return fs::is_directory(folder) ? folder.string() : "";
}

std::optional<std::string> shipped_model_for(const hwdesc::Device& device) {
  const std::vector<std::string> directories = shipped_models();
  if (auto found = shipped_for_lineage(directories, device)) return found;
  std::vector<Trained> trained(directories.begin(), directories.end());
  std::vector<const Trained*> candidates;
  for (const Trained& one : trained) candidates.push_back(&one);
  const auto found = nearest_match(candidates, device);
  return found ? std::optional(directories[*found]) : std::nullopt;
}

}  // namespace tilecast::sim
