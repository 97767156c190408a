#include "hybrid/hybrid_dir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "hwdesc/config_values.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/yaml_text.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorrection = "correction.yaml";
constexpr const char* kBands = "bands.csv";
constexpr const char* kFormat = "tilecast.correction/2";
constexpr double kMostShrinkage = 1e6, kMostReach = 1e3;

std::string member_file(std::size_t i) {
  return fmt::format("member_{}.trees", i);
}

std::string known_file(std::size_t i) {
  return fmt::format("known_{}.csv", i);
}

std::string device_file(std::size_t i) {
  return fmt::format("device_{}.yaml", i);
}

std::string path_of(const std::string& directory, const std::string& file) {
  return (fs::path(directory) / file).string();
}

using Files = decltype(learned::LoadedModel::extra);

std::string file_text(const Files& files, const std::string& file, const std::string& directory) {
  const auto found = files.find(file);
  if (found != files.end()) return found->second();
  throw Error(fmt::format("{}: files: {} is missing; every hybrid has one",
                          path_of(directory, "model.yaml"), file));
}

// A folder may be untrusted: its descriptions may extend shipped ones, but not files on the
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

// The devices in the folder, in the order of the card's.
KnownDevices devices_of(const std::vector<std::string>& names, const Files& files,
                        const std::string& directory) {
  KnownDevices devices;
  for (const std::string& name : names) {
    const std::string file = device_file(devices.size()), path = path_of(directory, file);
    devices.add(name, [=] {
      const std::string text = file_text(files, file, directory);
      require_no_path(text, path);
      hwdesc::Device device = hwdesc::parse_device(text, path);
      if (device.name == name) return device;
      throw Error(fmt::format("{}: name: got {}, expected {} as in model.yaml", path,
                              hwdesc::show_text(device.name), hwdesc::show_text(name)));
    });
  }
  return devices;
}

std::string rule_text(const Shrinkage& rule) {
  const std::string c = rule.c == kPhysicsAlone ? "physics" : fmt::format("{}", rule.c);
  return fmt::format("{{c: {}, kinds: [{}]}}", c, fmt::join(rule.kinds, ", "));
}

std::string correction_text(const HybridParts& parts) {
  std::string text = fmt::format("format: {}\nfeatures: [", kFormat);
  const char* comma = "";
  for (const learned::FeatureGroup group : parts.bag.selection().groups) {
    text += fmt::format("{}{}", comma, learned::name(group));
    comma = ", ";
  }
  text += fmt::format("]\nschema: \"{}\"\nmembers: {}\ncorrelation: {}\n",
                      parts.bag.features().schema().hash(), parts.bag.members().size(),
                      parts.correlation);
  text += "near:  # place N has the kernels of known_N.csv\n";
  const auto quoted = [](const std::string& name) { return hwdesc::yaml_text(name, kCorrection); };
  for (const Place& place : parts.known.places()) {
    text += fmt::format(
        "  - {{device: {}, writer: {}, timed: {}, source: {}, reach: {}, same: {}, any: {}}}\n",
        quoted(place.device), quoted(place.writer), quoted(place.timed), quoted(place.source),
        place.reach, rule_text(place.same), rule_text(place.any));
  }
  return text;
}

double number_at(const hwdesc::ConfigNode& node, double most, double least = 0) {
  const std::string& text = hwdesc::text_of(node);
  const std::optional<double> value = base::parse_number(text);
  if (value && *value >= least && *value <= most) return *value;
  hwdesc::fail_at(node, fmt::format("got {}, expected a number from {} to {}",
                                    hwdesc::show_text(text), least, most));
}

Shrinkage read_rule(const hwdesc::ConfigNode& node) {
  hwdesc::allow_only(node, {"c", "kinds"});
  const hwdesc::ConfigNode& c = hwdesc::required(node, "c");
  Shrinkage rule;
  if (hwdesc::text_of(c) != "physics") rule.c = number_at(c, kMostShrinkage);
  for (const hwdesc::ConfigNode& entry : hwdesc::required(node, "kinds").children) {
    rule.kinds.insert(hwdesc::text_of(entry));
  }
  return rule;
}

Place read_place(const hwdesc::ConfigNode& node) {
  hwdesc::allow_only(node, {"device", "writer", "timed", "source", "reach", "same", "any"});
  return {.device = hwdesc::text(node, "device"),
          .writer = hwdesc::required(node, "writer").scalar,
          .timed = hwdesc::required(node, "timed").scalar,
          .source = hwdesc::required(node, "source").scalar,
          .reach = number_at(hwdesc::required(node, "reach"), kMostReach, kLeastReach),
          .same = read_rule(hwdesc::required(node, "same")),
          .any = read_rule(hwdesc::required(node, "any"))};
}

// Reads correction.yaml; returns the number of members.
std::size_t read_correction(const std::string& text, const std::string& file, HybridParts& parts,
                            learned::FeatureSelection& selection) {
  const hwdesc::ConfigNode root = hwdesc::read_config(text, file);
  hwdesc::allow_only(root, {"format", "features", "schema", "members", "correlation", "near"});
  if (hwdesc::text(root, "format") != kFormat) {
    hwdesc::fail_at(*root.find("format"), fmt::format("expected {}", kFormat));
  }
  for (const hwdesc::ConfigNode& entry : hwdesc::list(hwdesc::required(root, "features"))) {
    const auto group = learned::parse_feature_group(hwdesc::text_of(entry));
    if (!group) hwdesc::fail_at(entry, "there is no group of features with this name");
    selection.groups.push_back(*group);
  }
  const std::string ours = learned::TableFeatures(selection).schema().hash();
  if (hwdesc::text(root, "schema") != ours) {
    hwdesc::fail_at(*root.find("schema"),
                    fmt::format("expected {}: the model was trained with other features than this "
                                "build computes; train it again",
                                ours));
  }
  parts.correlation = number_at(hwdesc::required(root, "correlation"), 1);
  for (const hwdesc::ConfigNode& place : hwdesc::list(hwdesc::required(root, "near"))) {
    parts.known.places().push_back(read_place(place));
  }
  return hwdesc::whole_number(hwdesc::required(root, "members"), 0, kMostMembers);
}

Bag::Members read_members(std::size_t width, std::size_t count, const Files& files,
                          const std::string& directory) {
  Bag::Members members;
  for (std::size_t i = 0; i < count; ++i) {
    std::string bytes = file_text(files, member_file(i), directory);
    try {
      members.push_back(learned::GbtModel::load(std::move(bytes), width));
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", path_of(directory, member_file(i)), error.what()));
    }
  }
  return members;
}

HybridParts read_parts(const learned::LoadedModel& loaded, const std::string& directory) {
  const Files& files = loaded.extra;
  const auto text_of = [&](const char* file) { return file_text(files, file, directory); };
  HybridParts parts;
  learned::FeatureSelection selection;
  const std::size_t members =
      read_correction(text_of(kCorrection), path_of(directory, kCorrection), parts, selection);
  const std::size_t width = learned::TableFeatures(selection).width();
  parts.bag =
      Bag(std::move(selection), [=] { return read_members(width, members, files, directory); });
  parts.bands = Bands::load(text_of(kBands), path_of(directory, kBands));
  parts.devices = devices_of(loaded.card.devices, files, directory);
  for (std::size_t i = 0; Place & place : parts.known.places()) {
    const std::string file = known_file(i++);
    place.kernels = [=] {
      return load_kernels(file_text(files, file, directory), path_of(directory, file));
    };
    if (parts.devices.has(place.device)) continue;
    throw Error(fmt::format("{}: near: device '{}' is none of model.yaml",
                            path_of(directory, kCorrection), place.device));
  }
  return parts;
}

}  // namespace

void save_hybrid(const learned::ModelCard& card, const HybridParts& parts,
                 const std::string& directory, bool force) {
  learned::ModelFiles files{.card = card, .predictor = nullptr, .training_csv = {}};
  files.card.hybrid = true;
  files.extra = {{kCorrection, correction_text(parts)}, {kBands, parts.bands.save()}};
  for (std::size_t i = 0; i < parts.bag.members().size(); ++i) {
    files.extra[member_file(i)] = parts.bag.members()[i].compact();
  }
  for (std::size_t i = 0; const Place& place : parts.known.places()) {
    files.extra[known_file(i++)] = save_kernels(*place.kernels);
  }
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
  learned::LoadedModel loaded = learned::load_model(directory);
  if (!loaded.card.hybrid) {
    throw Error(fmt::format("{}: is a model without physics around it; expected a hybrid",
                            path_of(directory, "model.yaml")));
  }
  HybridParts parts = read_parts(loaded, directory);
  return {.card = std::move(loaded.card), .parts = std::move(parts)};
}

std::string device_path(const std::string& directory, std::size_t device) {
  return path_of(directory, device_file(device));
}

bool is_hybrid_directory(const std::string& path) {
  std::error_code failed;
  return learned::is_model_directory(path) &&
         fs::is_regular_file(path_of(path, kCorrection), failed);
}

}  // namespace tilecast::hybrid
