#include "sim/model_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "analytical/analytical_model.h"
#include "analytical/roofline.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hybrid/hybrid_dir.h"
#include "learned/learned_model.h"
#include "learned/model_card_yaml.h"

namespace tilecast::sim {
namespace {

namespace fs = std::filesystem;
using analytical::Estimate;
using analytical::KernelQuery;

constexpr const char* kVariable = "TILECAST_MODELS";

// A folder of models, and what reports call it: no path of one machine.
struct Shelf {
  fs::path path;
  std::string shown;
};

std::optional<Shelf> shelf() {
  std::error_code failed;
  if (const char* chosen = std::getenv(kVariable); chosen && *chosen) {
    if (fs::is_directory(chosen, failed)) return Shelf{chosen, chosen};
    throw Error(fmt::format("{}: got '{}', expected a folder of models", kVariable, chosen));
  }
  constexpr const char* kInstalled = "share/tilecast/models";
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  const Shelf shelves[] = {{executable.parent_path().parent_path() / kInstalled, kInstalled},
                           {TILECAST_MODEL_DIR, "configs/models"},
                           {TILECAST_INSTALLED_MODEL_DIR, kInstalled}};
  for (const Shelf& one : shelves) {
    if (fs::is_directory(one.path, failed)) return one;
  }
  return std::nullopt;
}

std::string shown(const std::string& directory) {
  const std::optional<Shelf> from = shelf();
  const fs::path path(directory);
  if (!from || path.parent_path() != from->path) return directory;
  return from->shown + "/" + path.filename().string();
}

std::vector<std::string> trained_on(const std::string& directory) {
  const std::string card = directory + "/model.yaml";
  const base::SourceText text = base::SourceText::read_file(card, hwdesc::kMaxConfigBytes);
  return learned::read_model_yaml(std::string(text.text()), card).card.devices;
}

// 0: trained on this very device; i: on the i-th of its lineage; nullopt: on none of them.
std::optional<std::size_t> kinship(const std::vector<std::string>& trained,
                                   const hwdesc::Device& device) {
  const auto knows = [&](const std::string& name) {
    return std::ranges::find(trained, name) != trained.end();
  };
  if (knows(device.name)) return 0;
  const auto found = std::ranges::find_if(device.lineage, knows);
  if (found == device.lineage.end()) return std::nullopt;
  return static_cast<std::size_t>(found - device.lineage.begin()) + 1;
}

// Each device by the model that was chosen for it.
class ModelPerDevice final : public analytical::CostModel {
 public:
  struct Entry {
    std::vector<std::string> trained;
    std::unique_ptr<analytical::CostModel> model;
  };
  explicit ModelPerDevice(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override {
    const Entry* best = nullptr;
    std::optional<std::size_t> nearest;
    for (const Entry& entry : entries_) {
      const auto near = kinship(entry.trained, device);
      if (!near || (nearest && *nearest <= *near)) continue;
      nearest = near;
      best = &entry;
    }
    if (best == nullptr) return std::vector<std::optional<Estimate>>(queries.size());
    return best->model->estimate(queries, device);
  }

 private:
  std::vector<Entry> entries_;  // sorted by folder
};

ChosenModel hybrid_of(const std::string& directory, bool guard) {
  hybrid::LoadedHybrid loaded = hybrid::load_hybrid(directory);
  if (!guard) loaded.parts.guard = false;
  auto model = std::make_unique<hybrid::HybridModel>(std::move(loaded.parts));
  ChosenModel chosen;
  chosen.hybrid = model.get();
  chosen.model = std::move(model);
  chosen.card = std::move(loaded.card);
  return chosen;
}

std::string title(const std::string& directory, bool guard) {
  return fmt::format("{} {} ({})", guard ? "hybrid" : "learned",
                     fs::path(directory).filename().string(), shown(directory));
}

// `directories`: sorted, each once.
ChosenModel shipped(const std::vector<std::string>& directories, bool guard) {
  ChosenModel chosen;
  if (directories.size() == 1) {
    chosen = hybrid_of(directories.front(), guard);
  } else {
    std::vector<ModelPerDevice::Entry> entries;
    for (const std::string& directory : directories) {
      entries.push_back({trained_on(directory), hybrid_of(directory, guard).model});
    }
    chosen.model = std::make_unique<ModelPerDevice>(std::move(entries));
  }
  for (const std::string& directory : directories) {
    chosen.name += (chosen.name.empty() ? "" : ", ") + title(directory, guard);
  }
  if (!guard) chosen.note = "corrections are believed everywhere; for comparison only";
  return chosen;
}

struct Fitting {
  std::vector<std::string> directories;  // sorted, each once
  std::vector<std::string> without;      // names of devices that none fits
};

Fitting fitting(std::span<const hwdesc::Device> devices) {
  Fitting result;
  for (const hwdesc::Device& device : devices) {
    if (auto directory = shipped_model_for(device)) {
      result.directories.push_back(std::move(*directory));
    } else {
      result.without.push_back(device.name);
    }
  }
  std::ranges::sort(result.directories);
  const auto repeated = std::ranges::unique(result.directories);
  result.directories.erase(repeated.begin(), repeated.end());
  return result;
}

Error none_fits(const std::string& name, const std::string& device) {
  std::string there;
  for (const std::string& directory : shipped_models()) {
    there += fmt::format("{}{} (trained on {})", there.empty() ? "" : ", ", shown(directory),
                         fmt::join(trained_on(directory), ", "));
  }
  return Error(fmt::format(
      "--model {}: no shipped model fits device {}; {}; expected analytical, roofline or the "
      "folder of a model, which tilecast train makes",
      name, device, there.empty() ? "none is shipped" : "there are: " + there));
}

ChosenModel analytical_model(std::string note = {}) {
  ChosenModel chosen;
  chosen.model = std::make_unique<analytical::AnalyticalModel>();
  chosen.name = "analytical";
  chosen.note = std::move(note);
  return chosen;
}

ChosenModel default_model(std::span<const hwdesc::Device> devices) {
  const Fitting fit = fitting(devices);
  if (fit.directories.empty()) return analytical_model();
  if (fit.without.empty()) return shipped(fit.directories, /*guard=*/true);
  return analytical_model(
      fmt::format("analytical for all devices, so that they compare: no shipped model fits {}",
                  fmt::join(fit.without, ", ")));
}

ChosenModel from_folder(const std::string& directory, std::span<const hwdesc::Device> devices) {
  if (!hybrid::is_hybrid_directory(directory)) {
    learned::LoadedModel loaded = learned::load_model(directory);
    ChosenModel chosen;
    chosen.card = loaded.card;
    static const analytical::AnalyticalModel prior;
    chosen.model = std::make_unique<learned::LearnedModel>(std::move(loaded), prior);
    chosen.name = directory;
    return chosen;
  }
  ChosenModel chosen = hybrid_of(directory, /*guard=*/true);
  chosen.name = "hybrid " + directory;
  for (const hwdesc::Device& device : devices) {
    if (kinship(chosen.card->devices, device)) continue;
    chosen.note += fmt::format("{}{}: not trained on {}: corrections are those for a new device",
                               chosen.note.empty() ? "" : "; ", directory, device.name);
  }
  return chosen;
}

}  // namespace

std::vector<std::string> shipped_models() {
  std::vector<std::string> directories;
  const std::optional<Shelf> from = shelf();
  if (!from) return directories;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(from->path, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string directory = (from->path / name).string();
    if (name.starts_with('.')) continue;  // one that is being written
    if (hybrid::is_hybrid_directory(directory)) directories.push_back(directory);
  }
  std::ranges::sort(directories);
  return directories;
}

std::optional<std::string> shipped_model_for(const hwdesc::Device& device) {
  std::optional<std::string> best;
  std::optional<std::size_t> nearest;
  for (const std::string& directory : shipped_models()) {
    const auto near = kinship(trained_on(directory), device);
    if (!near || (nearest && *nearest <= *near)) continue;
    nearest = near;
    best = directory;
  }
  return best;
}

std::string model_name_fault(const std::string& name) {
  constexpr std::string_view kNames[] = {"analytical", "roofline", "learned", "hybrid", "default"};
  if (std::ranges::find(kNames, name) != std::end(kNames)) return "";
  if (learned::is_model_directory(name)) return "";
  return fmt::format(
      "got '{}', expected analytical, roofline, hybrid, learned, default or the folder of a "
      "trained model",
      name);
}

ChosenModel choose_model(const std::string& name, std::span<const hwdesc::Device> devices) {
  if (name == "analytical") return analytical_model();
  if (name == "default") return default_model(devices);
  if (name == "roofline") {
    ChosenModel chosen;
    chosen.model = std::make_unique<analytical::RooflineModel>();
    chosen.name = name;
    return chosen;
  }
  if (name != "hybrid" && name != "learned") return from_folder(name, devices);
  const Fitting fit = fitting(devices);
  if (!fit.without.empty()) throw none_fits(name, fit.without.front());
  TC_CHECK(!fit.directories.empty(), "a shipped model is asked about a device");
  return shipped(fit.directories, /*guard=*/name == "hybrid");
}

}  // namespace tilecast::sim
