#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_schema.h"

namespace tilecast::hwdesc {
namespace {

using Kind = ConfigNode::Kind;

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"nothing", "a value", "a mapping", "a list"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string near = base::nearest(word, known);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return fmt::format("known: {}", fmt::join(known, ", "));
}

class TreeReader final : public SchemaVisitor {
 public:
  explicit TreeReader(const ConfigNode& root) {
    if (!root.is_mapping()) {
      throw Error(fmt::format("{}: got {}, expected a mapping that describes a device",
                              root.at.describe(), kind_name(root.kind)));
    }
    blocks_.push_back({&root, "", {}});
  }

  void number(const Field& field, double& value) override {
    if (const ConfigNode* node = take(field)) value = quantity(*node, field, path(field.key));
  }
  void optional_number(const Field& field, std::optional<double>& value) override {
    if (const ConfigNode* node = take(field)) value = quantity(*node, field, path(field.key));
  }
  void integer(const Field& field, std::int64_t& value) override {
    const ConfigNode* node = take(field);
    if (!node) return;
    const double number = quantity(*node, field, path(field.key));
    if (number != std::floor(number)) {
      fail(*node, path(field.key), "got {}, expected a whole number", show_text(node->scalar));
    }
    value = static_cast<std::int64_t>(number);
  }
  void flag(const Field& field, bool& value) override {
    const ConfigNode* node = take(field);
    if (!node) return;
    const std::string& text = scalar(*node, path(field.key), "true or false");
    if (text != "true" && text != "false") {
      fail(*node, path(field.key), "got {}, expected true or false", show_text(text));
    }
    value = text == "true";
  }
  void text(const Field& field, std::string& value) override {
    const ConfigNode* node = take(field);
    if (!node) return;
    const std::string& text = scalar(*node, path(field.key), "a text");
    const auto size = static_cast<double>(text.size());
    if (size < field.low || size > field.high) {
      fail(*node, path(field.key), "got {} bytes of text, expected {} to {}", text.size(),
           field.low, field.high);
    }
    value = text;
  }
  void choice(const Field& field, std::size_t& index) override {
    const ConfigNode* node = take(field);
    if (node) index = word(*node, field, path(field.key));
  }
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    const ConfigNode* node = take(field);
    if (!node) return;
    expect(*node, Kind::kMapping, path(field.key), "a mapping of names to numbers");
    for (const ConfigNode& entry : node->children) {
      const std::string where = path(field.key) + "." + entry.key;
      if (!field.words.empty() && std::ranges::find(field.words, entry.key) == field.words.end()) {
        fail(entry, path(field.key), "unknown name {}; {}", show_text(entry.key),
             did_you_mean(entry.key, {field.words.begin(), field.words.end()}));
      }
      values[entry.key] = quantity(entry, field, where);
    }
  }
  void word_groups(const Field& field, std::vector<std::vector<std::string>>& groups) override {
    const ConfigNode* node = take(field);
    if (!node) return;
    expect(*node, Kind::kSequence, path(field.key), "a list of lists of units");
    std::set<std::string> seen;
    for (const ConfigNode& group : node->children) {
      expect(group, Kind::kSequence, path(field.key), "a list of units");
      std::vector<std::string>& names = groups.emplace_back();
      for (const ConfigNode& name : group.children) {
        names.emplace_back(field.words[word(name, field, path(field.key))]);
        if (!seen.insert(names.back()).second) {
          fail(name, path(field.key), "got {} twice, expected each unit in one group",
               show_text(names.back()));
        }
      }
    }
  }

  [[nodiscard]] bool enter(const Block& block, bool) override {
    blocks_.back().known.push_back(block.key);
    const ConfigNode* node = blocks_.back().node->find(block.key);
    const std::string where = path(block.key);
    if (!node) {
      if (block.required) throw Error(missing(block.key, block.doc));
      return false;
    }
    expect(*node, Kind::kMapping, where, "a block of keys");
    blocks_.push_back({node, where, {}});
    return true;
  }
  void leave() override {
    refuse_unknown_keys();
    blocks_.pop_back();
  }
  // Throws one Error with a line per block without a source.
  void require_sources() const {
    if (!unsourced_.empty()) throw Error(fmt::format("{}", fmt::join(unsourced_, "\n")));
  }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>&) override {
    std::vector<std::string> names;
    for (const ConfigNode& child : blocks_.back().node->children) names.push_back(child.key);
    return names;
  }

 private:
  struct OpenBlock {
    const ConfigNode* node;
    std::string path;
    std::vector<std::string> known;  // keys that the schema visited
  };

  template <class... Args>
  [[noreturn]] static void fail(const ConfigNode& node, const std::string& where,
                                fmt::format_string<Args...> format, Args&&... args) {
    throw Error(fmt::format("{}: {}: {}", node.at.describe(), where,
                            fmt::format(format, std::forward<Args>(args)...)));
  }
  [[nodiscard]] std::string path(std::string_view key) const {
    const std::string& block = blocks_.back().path;
    return block.empty() ? std::string(key) : fmt::format("{}.{}", block, key);
  }
  [[nodiscard]] std::string missing(std::string_view key, std::string_view doc) const {
    const OpenBlock& block = blocks_.back();
    return fmt::format("{}: {}: the key '{}' is missing; expected {}: {}",
                       block.node->at.describe(), block.path.empty() ? "device" : block.path, key,
                       key, doc);
  }
  const ConfigNode* take(const Field& field) {
    blocks_.back().known.emplace_back(field.key);
    const ConfigNode* node = blocks_.back().node->find(field.key);
    if (node || !field.required) return node;
    if (field.key != "source") throw Error(missing(field.key, field.doc));
    unsourced_.push_back(missing(field.key, field.doc));
    return nullptr;
  }
  static void expect(const ConfigNode& node, Kind kind, const std::string& where,
                     std::string_view expected) {
    if (node.kind != kind) {
      fail(node, where, "got {}, expected {}", kind_name(node.kind), expected);
    }
  }
  static const std::string& scalar(const ConfigNode& node, const std::string& where,
                                   std::string_view expected) {
    expect(node, Kind::kScalar, where, expected);
    return node.scalar;
  }
  static double quantity(const ConfigNode& node, const Field& field, const std::string& where) {
    const std::string& text = scalar(node, where, "a number with its unit");
    double value = 0;
    try {
      value = parse_quantity(text, field.kind);
    } catch (const Error& error) {
      fail(node, where, "{}", error.what());
    }
    if (value < field.low || value > field.high) {
      fail(node, where, "got {}, expected {} to {}", show_text(text),
           format_quantity(field.low, field.kind), format_quantity(field.high, field.kind));
    }
    return value;
  }
  static std::size_t word(const ConfigNode& node, const Field& field, const std::string& where) {
    const std::string& text = scalar(node, where, "a word");
    const auto found = std::ranges::find(field.words, text);
    if (found == field.words.end()) {
      fail(node, where, "got {}, expected one of {}; {}", show_text(text),
           fmt::join(field.words, ", "),
           did_you_mean(text, {field.words.begin(), field.words.end()}));
    }
    return static_cast<std::size_t>(std::distance(field.words.begin(), found));
  }
  void refuse_unknown_keys() const;

  std::vector<OpenBlock> blocks_;
  std::vector<std::string> unsourced_;
};

void TreeReader::refuse_unknown_keys() const {
  const OpenBlock& block = blocks_.back();
  std::vector<std::string_view> known(block.known.begin(), block.known.end());
  for (const ConfigNode& child : block.node->children) {
    if (std::ranges::find(known, child.key) != known.end()) continue;
    if (block.path.empty()) {  // an override may have misspelt a memory level or an engine
      for (const std::string_view shared : {"memory", "transfer"}) {
        const ConfigNode* blocks = block.node->find(shared);
        if (!blocks) continue;
        for (const ConfigNode& entry : blocks->children) {
          known.push_back(entry.key);
        }
      }
    }
    throw Error(fmt::format("{}: unknown key {}{}; {}", child.at.describe(), show_text(child.key),
                            block.path.empty() ? "" : " in " + block.path,
                            did_you_mean(child.key, known)));
  }
}

// User-chosen names become parts of key paths and of printed YAML.
void check_names(const ConfigNode& root, std::string_view block, std::string_view allowed) {
  constexpr std::size_t kLongest = 40;
  const ConfigNode* blocks = root.find(block);
  if (!blocks) return;
  for (const ConfigNode& entry : blocks->children) {
    const bool plain = entry.key.find_first_not_of(allowed) == std::string::npos;
    if (plain && entry.key.size() <= kLongest && entry.key[0] >= 'a' && entry.key[0] <= 'z') {
      continue;
    }
    throw Error(fmt::format("{}: {}: got the name {}, expected at most {} of {}, a letter first",
                            entry.at.describe(), block, show_text(entry.key), kLongest, allowed));
  }
}

void check_levels(const ConfigNode& memory, const Device& device) {
  if (device.memory.size() < 2) {
    throw Error(fmt::format(
        "{}: memory: got {} level(s), expected at least 2: an outer one that holds the arrays and "
        "an inner one the units work from",
        memory.at.describe(), device.memory.size()));
  }
  std::map<int, std::string> spaces = {{0, device.main_memory().name}};  // the default space
  for (std::size_t i = 0; i < device.memory.size(); ++i) {
    const MemoryLevel& level = device.memory[i];
    if (level.memory_space < 0) continue;
    const std::string& holder = spaces.emplace(level.memory_space, level.name).first->second;
    if (holder == level.name) continue;
    throw Error(fmt::format(
        "{}: memory.{}.memory_space: got {}, which is {}'s; expected one level per space",
        memory.children[i].at.describe(), level.name, level.memory_space, holder));
  }
}

// Requires an energy for everything that can do work, and for nothing else: missing ones would
// count as zero.
void check_energy(const ConfigNode& root, const Device& device) {
  const ConfigNode* block = root.find("energy");
  if (block == nullptr || !device.energy) return;
  const Energy& energy = *device.energy;
  const auto refuse = [&](std::string_view key, std::string_view what) {
    const ConfigNode* node = block->find(key);
    throw Error(fmt::format("{}: energy.{}: {}", (node ? node : block)->at.describe(), key, what));
  };
  std::vector<std::string_view> levels;
  for (const MemoryLevel& level : device.memory) {
    levels.push_back(level.name);
    if (!energy.memory.contains(level.name)) {
      refuse("memory",
             fmt::format("the level '{0}' is missing; expected {0}: such as 44 pJ/B", level.name));
    }
  }
  for (const auto& [name, unused] : energy.memory) {
    if (std::ranges::find(levels, name) != levels.end()) continue;
    refuse("memory", fmt::format("got {}, which is no level of memory; {}", show_text(name),
                                 did_you_mean(name, levels)));
  }
  for (const auto& [dtype, unused] : device.matrix.passes) {
    if (energy.matrix.contains(dtype == "u8" ? "s8" : dtype)) continue;
    refuse("matrix", fmt::format("the type '{0}' of matrix.passes is missing; expected {0}: such "
                                 "as 0.9 pJ",
                                 dtype));
  }
  if (device.interconnect && block->find("network") == nullptr) {
    refuse("network", "missing; expected the energy of a byte that leaves a chip, such as 25 pJ/B");
  }
  if (!energy.power_limit) return;
  if (*energy.power_limit <= energy.idle_power) {
    refuse("power_limit", "expected more than idle_power");
  }
  if (device.matrix.limited_clock) {
    refuse("power_limit",
           "matrix.limited_clock says the same in another way; expected one of the two");
  }
}

void check_collectives(const ConfigNode& root, const Device& device) {
  if (!device.interconnect || !device.interconnect->library) return;
  const CollectiveLibrary& library = *device.interconnect->library;
  if (library.direct_up_to.value == 0 || library.direct_start.value > 0) return;
  const ConfigNode* node = root.find("interconnect")->find("library");
  throw Error(node->at.describe() + ": interconnect.library.direct_start: missing; expected the " +
              "launch and barrier of an all-reduce in one kernel, as direct_up_to is given");
}

// Requires a shape that the topology allows, and a network if there are several slices.
void check_slice(const ConfigNode& root, const Device& device) {
  if (!device.interconnect || !device.interconnect->slice) return;
  const Slice& slice = *device.interconnect->slice;
  const ConfigNode& block = *root.find("interconnect")->find("slice");
  const auto refuse = [&](std::string_view key, std::string_view what) {
    const ConfigNode* node = block.find(key);
    throw Error(fmt::format("{}: interconnect.slice.{}: {}", (node ? node : &block)->at.describe(),
                            key, what));
  };
  std::size_t dimensions = 0;
  try {
    dimensions = slice_shape(slice.shape).size();
  } catch (const Error& error) {
    refuse("shape", error.what());
  }
  const std::string& topology = device.interconnect->topology;
  const std::size_t most = topology == "torus3d" ? 3 : topology == "torus2d" ? 2 : 1;
  if (topology == "none" || dimensions > most) {
    refuse("shape", fmt::format("got {} for the topology {}, expected at most {} dimension{}; "
                                "interconnect.topology: ring, torus2d, torus3d, switch or mesh",
                                show_text(slice.shape), topology, most, most == 1 ? "" : "s"));
  }
  try {
    if (!slice.wraps.empty()) (void)slice_rings(slice.wraps, dimensions);
  } catch (const Error& error) {
    refuse("wraps", error.what());
  }
  if (slice.count > 1 && !slice.network_bandwidth) {
    refuse("network_bandwidth",
           "missing; expected that of a host to other slices, such as 25 GB/s, as count is not 1");
  }
}

}  // namespace

Device read_device(const ConfigNode& root) {
  Device device;
  TreeReader reader(root);
  check_names(root, "memory", "abcdefghijklmnopqrstuvwxyz0123456789_");
  check_names(root, "published", "abcdefghijklmnopqrstuvwxyz0123456789_.");
  walk(reader, device);
  reader.leave();
  reader.require_sources();
  if (auto& net = device.interconnect; net && net->slice && !net->slice->network_bandwidth) {
    net->slice->network_bandwidth = net->network_bandwidth;
    net->slice->network_latency = net->network_latency;
  }
  check_levels(*root.find("memory"), device);
  check_energy(root, device);
  check_slice(root, device);
  check_collectives(root, device);
  return device;
}

}  // namespace tilecast::hwdesc
