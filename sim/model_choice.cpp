// The models shipped with Tilecast, and the devices they were trained on; sim/model_choice.h
// chooses among them. Throws Error for an unreadable folder. Thread-safe.
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
#include "hwdesc/device.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_dir.h"
#include "learned/learned_model.h"
#include "learned/model_card_yaml.h"

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
    throw Error("{}: got '{}', expected a folder of models", kVariable, chosen);
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

// The path of a shipped model's folder for reports, independent of this machine; other folders are
// returned unchanged.
std::string display_path(const std::string& directory) {
  const std::optional<ModelDirectory> shipped = model_directory();
  const fs::path path(directory);
  if (!shipped || path.parent_path() != shipped->path) return directory;
  return shipped->display_path + "/" + path.filename().string();
}

std::vector<std::string> trained_on(const std::string& directory) {
  return devices_of(card_text(directory));
}

// The training devices of a shipped model.
struct Trained {
  std::vector<std::string> devices;
  hwdesc::Execution execution;  // of the first device

  explicit Trained(const std::string& directory)
      : devices(trained_on(directory)),
        execution(hwdesc::load_device(hybrid::device_path(directory, 0)).execution) {}
  // 0: trained on the device; i: on the i-th of its lineage; 1000: on several devices of its kind,
  // so that the model knows how much they differ.
  [[nodiscard]] std::optional<std::size_t> distance(const hwdesc::Device& device) const {
    if (const auto near = device.lineage_distance(devices)) return near;
    constexpr std::size_t kKind = 1000;
    const bool of_kind = devices.size() > 1 && execution == device.execution;
    return of_kind ? std::optional(kKind) : std::nullopt;
  }
};

// The index of the first candidate with the smallest distance to the device; `trained`: the
// Trained of a candidate.
template <class Candidates, class Of>
std::optional<std::size_t> nearest_match(const Candidates& candidates, const Of& trained,
                                         const hwdesc::Device& device) {
  std::optional<std::size_t> best, least;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto distance = std::invoke(trained, candidates[i]).distance(device);
    if (!distance || (least && *least <= *distance)) continue;
    least = distance;
    best = i;
  }
  return best;
}

using analytical::Estimate;
using analytical::KernelQuery;

// Uses the model chosen for each device.
class ModelPerDevice final : public analytical::CostModel {
 public:
  struct Entry {
    Trained trained;
    std::unique_ptr<analytical::CostModel> model;
  };
  explicit ModelPerDevice(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override {
    const auto match = nearest_match(entries_, &Entry::trained, device);
    if (!match) return std::vector<std::optional<Estimate>>(queries.size());
    return entries_[*match].model->estimate(queries, device);
  }

 private:
  std::vector<Entry> entries_;  // sorted by folder
};

ChosenModel hybrid_of(const std::string& directory, hybrid::Belief belief) {
  hybrid::LoadedHybrid loaded = hybrid::load_hybrid(directory);
  auto model =
      std::make_unique<hybrid::HybridModel>(analytical_prior(), std::move(loaded.parts), belief);
  ChosenModel chosen;
  chosen.explain = [hybrid = model.get()](const KernelQuery& query, const hwdesc::Device& device) {
    return hybrid->explain(query, device);
  };
  chosen.model = std::move(model);
  chosen.card = std::move(loaded.card);
  return chosen;
}

// ChosenTiles that owns the objects it refers to.
class OwningChosenTiles final : public analytical::CostModel {
 public:
  OwningChosenTiles(std::unique_ptr<analytical::CostModel> times,
                    std::unique_ptr<const analytical::TileRanker> ranker,
                    const search::TileListing& listing, search::TileChoices fixed)
      : times_(std::move(times)),
        ranker_(std::move(ranker)),
        chosen_(*times_, {.ranker = ranker_.get(), .listing = listing, .fixed = std::move(fixed)}) {
  }
  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override {
    return chosen_.estimate(queries, device);
  }

 private:
  std::unique_ptr<analytical::CostModel> times_;
  std::unique_ptr<const analytical::TileRanker> ranker_;
  search::ChosenTiles chosen_;
};

// TimeRanker that owns its model.
class OwningTimeRanker final : public analytical::TileRanker {
 public:
  explicit OwningTimeRanker(ChosenModel times) : times_(std::move(times)), ranks_(*times_.model) {}
  [[nodiscard]] std::vector<std::optional<double>> scores(
      const ir::Kernel& kernel, std::span<const analytical::TileConfig> tiles,
      const hwdesc::Device& device) const override {
    return ranks_.scores(kernel, tiles, device);
  }

 private:
  ChosenModel times_;
  analytical::TimeRanker ranks_;
};

void note(ChosenModel& chosen, const std::string& text) {
  if (chosen.note.find(text) != std::string::npos) return;  // of another slice of that device
  chosen.note += (chosen.note.empty() ? "" : "; ") + text;
}

std::string untrained(const std::string& model, const hwdesc::Device& device) {
  return fmt::format("{}: {} was not measured: physics alone, with the interval of other machines",
                     model, device.name);
}

// `directories`: sorted, without duplicates; every device fits one of them.
ChosenModel shipped(const std::vector<std::string>& directories,
                    std::span<const hwdesc::Device> devices, hybrid::Belief belief) {
  ChosenModel chosen;
  std::vector<std::string> known;
  if (directories.size() == 1) {
    chosen = hybrid_of(directories.front(), belief);
    known = chosen.card->devices;
  } else {
    std::vector<ModelPerDevice::Entry> entries;
    for (const std::string& directory : directories) {
      entries.push_back({Trained(directory), hybrid_of(directory, belief).model});
      const std::vector<std::string>& names = entries.back().trained.devices;
      known.insert(known.end(), names.begin(), names.end());
    }
    chosen.model = std::make_unique<ModelPerDevice>(std::move(entries));
  }
  const bool learned = belief == hybrid::Belief::kEverything;
  for (const std::string& directory : directories) {
    chosen.name +=
        fmt::format("{}{} {} ({})", chosen.name.empty() ? "" : ", ", learned ? "learned" : "hybrid",
                    fs::path(directory).filename().string(), display_path(directory));
  }
  if (learned) note(chosen, "corrections are believed everywhere; for comparison only");
  for (const hwdesc::Device& device : devices) {
    if (!device.lineage_distance(known)) note(chosen, untrained(chosen.name, device));
  }
  return chosen;
}

struct Match {
  std::vector<std::string> directories;  // sorted, without duplicates
  std::vector<std::string> unmatched;    // names of devices without a model
};

Match match(std::span<const hwdesc::Device> devices) {
  Match result;
  for (const hwdesc::Device& device : devices) {
    if (auto directory = shipped_model_for(device)) {
      result.directories.push_back(std::move(*directory));
    } else {
      result.unmatched.push_back(device.name);
    }
  }
  std::ranges::sort(result.directories);
  const auto repeated = std::ranges::unique(result.directories);
  result.directories.erase(repeated.begin(), repeated.end());
  return result;
}

Error no_match(const std::string& name, const std::string& device) {
  std::string shipped;
  for (const std::string& directory : shipped_models()) {
    shipped += fmt::format("{}{} (trained on {})", shipped.empty() ? "" : ", ",
                           display_path(directory), fmt::join(trained_on(directory), ", "));
  }
  return Error(
      "--model {}: no shipped model fits device {}; {}; expected analytical, roofline, bottleneck "
      "or the folder of a model, which tilecast train makes",
      name, device, shipped.empty() ? "none is shipped" : "there are: " + shipped);
}

template <class Model>
ChosenModel without_data(const std::string& name, const std::string& note = {}) {
  return {.model = std::make_unique<Model>(), .name = name, .note = note};
}

ChosenModel analytical_model(const std::string& note = {}) {
  return without_data<analytical::AnalyticalModel>("analytical", note);
}

ChosenModel default_model(std::span<const hwdesc::Device> devices) {
  const Match found = match(devices);
  if (found.directories.empty()) return analytical_model();
  if (found.unmatched.empty()) return shipped(found.directories, devices, hybrid::Belief::kRules);
  return analytical_model(
      fmt::format("analytical for all devices, so that they compare: no shipped model fits {}",
                  fmt::join(found.unmatched, ", ")));
}

// Analytical times of the tiles that a ranking model chooses.
ChosenModel ranked_by(learned::LoadedModel loaded, const std::string& directory) {
  ChosenModel times = analytical_model();
  times.card = loaded.card;
  ChosenModel chosen = with_tiles(std::move(times), std::make_unique<const learned::RankModel>(
                                                        std::move(loaded), analytical_prior()));
  chosen.name = fmt::format("analytical, tiles chosen by {}", directory);
  return chosen;
}

ChosenModel from_folder(const std::string& directory, std::span<const hwdesc::Device> devices) {
  if (!hybrid::is_hybrid_directory(directory)) {
    learned::LoadedModel loaded = learned::load_model(directory);
    if (loaded.card.ranks_only) return ranked_by(std::move(loaded), directory);
    ChosenModel chosen;
    chosen.card = loaded.card;
    chosen.model = std::make_unique<learned::LearnedModel>(std::move(loaded), analytical_prior());
    chosen.name = directory;
    return chosen;
  }
  ChosenModel chosen = hybrid_of(directory, hybrid::Belief::kRules);
  chosen.name = "hybrid " + directory;
  for (const hwdesc::Device& device : devices) {
    if (device.lineage_distance(chosen.card->devices)) continue;
    note(chosen, untrained(directory, device));
  }
  return chosen;
}

// Throws Error unless the model was trained on machines of each device's kind.
void require_kind(const std::string& name, const learned::ModelCard& card,
                  std::span<const hwdesc::Device> devices) {
  for (const hwdesc::Device& device : devices) {
    const bool known = std::ranges::any_of(card.devices, [&](const std::string& trained) {
      return hwdesc::load_device(trained).execution == device.execution;
    });
    if (!known) {
      throw Error("--choose-tiles {}: was trained on {}; {} is another kind of machine", name,
                  fmt::join(card.devices, ", "), device.name);
    }
  }
}

// The folder of the shipped model of this name that ranks tiles; "" if there is none.
std::string shipped_ranker(const std::string& name) {
  const std::string folder = shipped_folder(name);
  const bool ranks = learned::is_model_directory(folder) && !hybrid::is_hybrid_directory(folder);
  return ranks ? folder : "";
}

}  // namespace

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

std::string shipped_folder(const std::string& name) {
  const std::optional<ModelDirectory> shipped = model_directory();
  if (!shipped || name.empty() || name.find('/') != std::string::npos) return "";
  const fs::path folder = shipped->path / name;
  return fs::is_directory(folder) ? folder.string() : "";
}

std::optional<std::string> shipped_model_for(const hwdesc::Device& device) {
  const std::vector<std::string> directories = shipped_models();
  if (auto found = shipped_for_lineage(directories, device)) return found;
  const std::vector<Trained> trained(directories.begin(), directories.end());
  const auto found = nearest_match(trained, std::identity(), device);
  return found ? std::optional(directories[*found]) : std::nullopt;
}

const analytical::CostModel& analytical_prior() {
  static const analytical::AnalyticalModel prior;
  return prior;
}

std::span<const std::string_view> model_names() {
  static constexpr std::string_view kNames[] = {"analytical", "roofline", "bottleneck",
                                                "hybrid",     "learned",  "default"};
  return kNames;
}

std::string model_name_fault(const std::string& name) {
  const auto names = model_names();
  if (std::ranges::find(names, name) != names.end()) return "";
  if (learned::is_model_directory(name)) return "";
  return fmt::format("got '{}', expected {} or the folder of a trained model", name,
                     fmt::join(names, ", "));
}

std::string ranker_name_fault(const std::string& name) {
  return shipped_ranker(name).empty() ? model_name_fault(name) : "";
}

ChosenModel choose_model(const std::string& name, std::span<const hwdesc::Device> devices) {
  if (name == "analytical") return analytical_model();
  if (name == "default") return default_model(devices);
  if (name == "roofline") return without_data<analytical::RooflineModel>(name);
  if (name == "bottleneck") return without_data<analytical::BottleneckModel>(name);
  if (name != "hybrid" && name != "learned") return from_folder(name, devices);
  const Match found = match(devices);
  if (!found.unmatched.empty()) throw no_match(name, found.unmatched.front());
  TC_CHECK(!found.directories.empty(), "a shipped model is asked about a device");
  return shipped(found.directories, devices,
                 name == "hybrid" ? hybrid::Belief::kRules : hybrid::Belief::kEverything);
}

ChosenModel with_tiles(ChosenModel times, std::unique_ptr<const analytical::TileRanker> ranker,
                       const search::TileListing& listing, search::TileChoices fixed) {
  if (ranker) times.ranker = ranker.get();
  times.model = std::make_unique<OwningChosenTiles>(std::move(times.model), std::move(ranker),
                                                    listing, std::move(fixed));
  return times;
}

std::unique_ptr<const analytical::TileRanker> choose_ranker(
    const std::string& name, std::span<const hwdesc::Device> devices) {
  if (name == "analytical") return std::make_unique<const analytical::PhysicsRanker>();
  const bool shipped = !learned::is_model_directory(name);
  const std::string folder = shipped ? shipped_ranker(name) : name;
  if (!folder.empty() && !hybrid::is_hybrid_directory(folder)) {
    learned::LoadedModel loaded = learned::load_model(folder);
    if (shipped) require_kind(name, loaded.card, devices);
    if (loaded.card.ranks_only) {
      return std::make_unique<const learned::RankModel>(std::move(loaded), analytical_prior());
    }
  }
  return std::make_unique<const OwningTimeRanker>(choose_model(name, devices));
}

}  // namespace tilecast::sim
