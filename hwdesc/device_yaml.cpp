#include "hwdesc/device_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_schema.h"
#include "hwdesc/yaml_text.h"

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
  return base::SourceText::read_bytes(path, kMaxConfigBytes);
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

// Whether a description keeps its parent's machine.
bool only_calibrates(const ConfigNode& root) {
  constexpr std::string_view kKeys[] = {"extends",       "name",       "description",
                                        "profile_names", "xla_target", "calibration"};
  return std::ranges::all_of(root.children, [&](const ConfigNode& child) {
    return std::ranges::find(kKeys, child.key) != std::end(kKeys);
  });
}

}  // namespace

namespace chain_detail {

// The files of a description's `extends:` chain, and what follows from their order.
struct Chain {
  std::vector<std::string> identities, files;  // from the description to its farthest ancestor
  std::vector<std::string> lineage;            // Device::lineage

  // Age of a node: -1 for an override, 0 for the description itself, 1 for its parent ...
  [[nodiscard]] std::ptrdiff_t age(const ConfigNode* node) const {
    if (node == nullptr) return static_cast<std::ptrdiff_t>(files.size());
    return node->at.line == 0 ? -1 : std::ranges::find(files, node->at.file) - files.begin();
  }
};

}  // namespace chain_detail

namespace {

using chain_detail::Chain;

// The tree of `text`, merged over those it extends.
ConfigNode read_chain(const std::string& text, const std::string& file, Chain& chain) {
  ConfigNode root = read_config(text, file);
  chain.files.push_back(file);
  const ConfigNode* extends = root.find("extends");
  if (!extends) return root;
  const std::string parent = parent_path(*extends, file);
  const std::string parent_identity = identity(parent);
  const std::string where = extends->at.describe();
  if (std::ranges::find(chain.identities, parent_identity) != chain.identities.end()) {
    throw Error(fmt::format("{}: extends: '{}' extends itself: {} -> {}", where, extends->scalar,
                            fmt::join(chain.identities, " -> "), parent_identity));
  }
  if (chain.identities.size() > kMaxChain) {
    throw Error(fmt::format("{}: extends: got a chain of more than {} files", where, kMaxChain));
  }
  chain.identities.push_back(parent_identity);
  ConfigNode inherited;
  try {
    inherited = read_chain(read_text(parent), parent, chain);
  } catch (const Error& error) {
    throw Error(fmt::format("{}\n  extended by {}", error.what(), where));
  }
  root.erase("extends");
  if (!inherited.is_mapping()) {
    throw Error(fmt::format("{}: extends: {} is not a device description", where, parent));
  }
  if (only_calibrates(root)) {
    chain.lineage.insert(chain.lineage.begin(), name_of(inherited, parent));
  } else {
    chain.lineage.clear();
  }
  return merge(std::move(inherited), root);
}

// Device::outdated: numbers written before the numbers they depend on changed. Rates of on-chip
// levels are bytes per cycle of all workers; the efficiency of memory depends on clock and workers,
// that of a unit on its clock.
std::vector<std::string> outdated_numbers(const ConfigNode& root, const Chain& chain) {
  const ConfigNode* clock = root.find("clock");
  const ConfigNode* multiplexing = root.find("multiplexing");
  const ConfigNode* workers = multiplexing ? multiplexing->find("workers") : nullptr;
  const ConfigNode* newest = chain.age(workers) < chain.age(clock) ? workers : clock;
  std::vector<std::string> outdated;
  const auto check = [&](const std::string& path, const ConfigNode* block, std::string_view key,
                         const ConfigNode* followed) {
    const ConfigNode* number = block ? block->find(key) : nullptr;
    const std::ptrdiff_t changed = chain.age(followed);
    if (!number || chain.age(number) <= changed || chain.age(block->find("source")) <= changed) {
      return;
    }
    outdated.push_back(fmt::format("{}.{}: got {} from {}, but {} has changed since: {}", path, key,
                                   show_text(number->scalar), number->at.describe(), followed->key,
                                   followed->at.describe()));
  };
  const std::vector<ConfigNode>& levels = root.find("memory")->children;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (const std::string_view key : {"bandwidth", "write_bandwidth", "efficiency"}) {
      if (i > 0 || key == "efficiency") check("memory." + levels[i].key, &levels[i], key, newest);
    }
  }
  for (const std::string unit : {"matrix", "vector"}) {
    check(unit, root.find(unit), "efficiency", clock);
  }
  return outdated;
}

// Hashes every value that times of kernels depend on: not names, sources, links, published peaks or
// calibration.
std::size_t machine_of(const Device& device) {
  std::string values;
  const bool limited = device.power_limit().has_value();  // without a limit energy affects no time
  for (const auto& [path, value] : flatten(device)) {
    if (path.starts_with("energy.") && !limited) continue;
    if (path == "name" || path == "description" || path == "profile_names" ||
        path == "xla_target") {
      continue;
    }
    if (path.ends_with("source") || path.ends_with(".reserved")) continue;
    // Links change no kernel of one device; a slice says which links there are.
    if (path.starts_with("interconnect.") && !path.starts_with("interconnect.slice.")) continue;
    if (path.starts_with("calibration.") || path.starts_with("published.")) continue;
    values += path + "=" + value + "\n";
  }
  return std::hash<std::string>()(values);
}

}  // namespace

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kExtension);
}

struct DeviceSource::Parts {
  std::string file;
  ConfigNode root;
  chain_detail::Chain chain;
};

namespace {

DeviceSource::Parts read_parts(const std::string& text, const std::string& file) {
  Chain chain{.identities = {identity(file)}, .files = {}, .lineage = {}};
  ConfigNode root = read_chain(text, file, chain);
  if (root.at.file.empty()) root.at = {file, 1, 1};
  return {file, std::move(root), std::move(chain)};
}

void apply_overrides(ConfigNode& root, const Overrides& overrides) {
  if (!root.is_mapping()) return;
  for (const auto& [path, value] : overrides) apply_override(root, path, value);
}

Device device_of(const DeviceSource::Parts& parts, const ConfigNode& root) {
  Device device = read_device(root);
  device.file = parts.file;
  device.outdated = outdated_numbers(root, parts.chain);
  device.lineage = parts.chain.lineage;
  if (device.name.empty()) device.name = stem(parts.file);
  device.machine = machine_of(device);
  return device;
}

// A preset's short name: v6e, h100, a100 (that of the larger memory), tpu7x; "" if none.
std::string preset_of(std::string name) {
  if (name.starts_with("tpu") && !name.starts_with("tpu_")) name.replace(0, 3, "tpu_v");
  if (name.starts_with("v5litepod")) name = "v5e";
  std::string found;
  for (const std::string& preset : preset_names()) {
    if (preset == name || preset == "tpu_" + name) return preset;
    if (preset.starts_with(name + "_sxm")) found = preset;
  }
  return found;
}

// A file, and the slice that a name such as v6e-256 or h100x64 asks for.
struct Described {
  std::string path;
  Overrides slice;
};

// GPUs fill hosts one after the other, each a slice of its own.
Overrides slice_of(const Device& device, std::int64_t count) {
  const Interconnect& net = *device.interconnect;
  if (is_direct(net.topology)) {
    const std::int64_t host = std::max(1, net.devices_per_host), hosts = (count + host - 1) / host;
    Overrides slice{{"interconnect.slice.shape", fmt::format("{}", std::min(count, host))},
                    {"interconnect.slice.count", fmt::format("{}", hosts)}};
    if (count < host || count % host == 0) return slice;
    throw Error(
        fmt::format("got {} devices, expected a multiple of the {} of a host", count, host));
  }
  if (count % net.named_per_chip != 0) {
    throw Error(fmt::format("got {}, expected a multiple of {}: names count cores", count,
                            net.named_per_chip));
  }
  const int dimensions = net.topology == "torus3d" ? 3 : net.topology == "torus2d" ? 2 : 1;
  return {{"interconnect.slice.shape",
           fmt::format("{}", fmt::join(squarest(count / net.named_per_chip, dimensions), "x"))}};
}

Described description_of(const std::string& name) {
  if (is_path(name)) return {name, {}};
  const std::vector<std::string> names = preset_names();
  const std::size_t mark = name.find_last_of("-x");
  const bool is_preset = std::ranges::find(names, name) != names.end();
  if (is_preset || mark == std::string::npos) return {preset_path(name), {}};
  const auto count = base::parse_number<std::int64_t>(std::string_view(name).substr(mark + 1));
  const std::string preset = preset_of(name.substr(0, mark));
  if (!count || *count < 1 || *count > (1 << 20) || preset.empty()) return {preset_path(name), {}};
  const std::string path = preset_path(preset);
  const Device device = parse_device(read_text(path), path, {});
  if (!device.interconnect) throw Error("device " + name + ": its interconnect is not described");
  try {
    return {path, slice_of(device, *count)};
  } catch (const Error& error) {
    throw Error("device " + name + ": " + error.what());
  }
}

}  // namespace

DeviceSource::DeviceSource(const std::string& name_or_path, const Overrides& overrides) {
  const Described described = description_of(name_or_path);
  Parts parts = read_parts(read_text(described.path), described.path);
  apply_overrides(parts.root, described.slice);
  apply_overrides(parts.root, overrides);
  parts_ = std::make_unique<const Parts>(std::move(parts));
}
DeviceSource::~DeviceSource() = default;
DeviceSource::DeviceSource(DeviceSource&&) noexcept = default;
DeviceSource& DeviceSource::operator=(DeviceSource&&) noexcept = default;

Device DeviceSource::with(const Overrides& overrides) const {
  ConfigNode root = parts_->root;
  apply_overrides(root, overrides);
  return device_of(*parts_, root);
}

Device parse_device(const std::string& text, const std::string& file, const Overrides& overrides) {
  DeviceSource::Parts parts = read_parts(text, file);
  apply_overrides(parts.root, overrides);
  return device_of(parts, parts.root);
}

Device load_device(const std::string& name_or_path, const Overrides& overrides) {
  Described described = description_of(name_or_path);
  described.slice.insert(described.slice.end(), overrides.begin(), overrides.end());
  return parse_device(read_text(described.path), described.path, described.slice);
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
  const std::string here = fmt::format("./{}{}", name, kExtension);
  std::error_code failed;
  const std::string near =
      fs::exists(here, failed) ? here : base::nearest(name, {names.begin(), names.end()});
  throw Error(
      fmt::format("device {}: no such preset; {}presets: {}; a slice of one such as v6e-256 or "
                  "h100x64; or a path to a .yaml file",
                  show_text(name), near.empty() ? "" : "did you mean '" + near + "'? ",
                  fmt::join(names, ", ")));
}

// The three texts derived from the schema: canonical YAML, flat (path, value) rows, key help.

namespace {

// Walks a complete device and passes each leaf to the derived class as text.
class LeafVisitor : public SchemaVisitor {
 public:
  void number(const Field& field, double& value) override {
    leaf(field, format_quantity(value, field.kind));
  }
  void optional_number(const Field& field, std::optional<double>& value) override {
    if (value) leaf(field, format_quantity(*value, field.kind));
  }
  void integer(const Field& field, std::int64_t& value) override {
    leaf(field, fmt::format("{}", value));
  }
  void flag(const Field& field, bool& value) override { leaf(field, value ? "true" : "false"); }
  void text(const Field& field, std::string& value) override {
    if (!value.empty()) leaf(field, value);
  }
  void choice(const Field& field, std::size_t& index) override {
    if (!field.required && index == 0) return;
    leaf(field, std::string(field.words[index]));
  }
  void word_groups(const Field& field, std::vector<std::vector<std::string>>& groups) override {
    if (groups.empty()) return;
    std::vector<std::string> texts;
    for (const auto& group : groups) texts.push_back(fmt::format("[{}]", fmt::join(group, ", ")));
    leaf(field, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& held) override {
    return held;
  }

 protected:
  virtual void leaf(const Field& field, const std::string& value) = 0;
};

class YamlPrinter final : public LeafVisitor {
 public:
  [[nodiscard]] std::string take() { return std::move(out_); }

  void text(const Field& field, std::string& value) override {
    if (!value.empty()) leaf(field, yaml_text(value, field.key));
  }
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    if (values.empty() && !field.required) return;
    std::vector<std::string> entries;
    for (const auto& [key, value] : values) {
      entries.push_back(
          fmt::format("{}: {}", yaml_text(key, field.key), format_quantity(value, field.kind)));
    }
    leaf(field, fmt::format("{{{}}}", fmt::join(entries, ", ")));
  }
  [[nodiscard]] bool enter(const Block& block, bool present) override {
    if (!present) return false;
    if (depth_ == 0) out_ += '\n';
    out_ += fmt::format("{:{}}{}:\n", "", 2 * depth_, block.key);
    ++depth_;
    return true;
  }
  void leave() override { --depth_; }

 private:
  void leaf(const Field& field, const std::string& value) override {
    out_ += fmt::format("{:{}}{}: {}\n", "", 2 * depth_, field.key, value);
  }

  std::string out_;
  int depth_ = 0;
};

// Knows the path of each leaf.
class PathVisitor : public LeafVisitor {
 public:
  [[nodiscard]] bool enter(const Block& block, bool present) override {
    if (present) blocks_.push_back(path(block.key));
    return present;
  }
  void leave() override { blocks_.pop_back(); }

 protected:
  [[nodiscard]] std::string path(std::string_view key) const {
    return blocks_.empty() ? std::string(key) : fmt::format("{}.{}", blocks_.back(), key);
  }

 private:
  std::vector<std::string> blocks_;
};

class Flattener final : public PathVisitor {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Rows take() { return std::move(rows_); }
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    for (const auto& [key, value] : values) {
      rows_.emplace_back(path(fmt::format("{}.{}", field.key, key)),
                         format_quantity(value, field.kind));
    }
  }

 private:
  void leaf(const Field& field, const std::string& value) override {
    rows_.emplace_back(path(field.key), value);
  }
  Rows rows_;
};

class NumberLister final : public PathVisitor {
 public:
  [[nodiscard]] std::vector<DeviceNumber> take() { return std::move(numbers_); }
  void number(const Field& field, double& value) override { list(field, value, field.key); }
  void optional_number(const Field& field, std::optional<double>& value) override {
    if (value) list(field, *value, field.key);
  }
  void integer(const Field& field, std::int64_t& value) override {
    list(field, static_cast<double>(value), field.key);
    numbers_.back().integer = true;
  }
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    for (const auto& [key, value] : values) {
      list(field, value, fmt::format("{}.{}", field.key, key));
    }
  }

 private:
  void leaf(const Field&, const std::string&) override {}
  void list(const Field& field, double value, std::string_view key) {
    numbers_.push_back({path(key), field.kind, false, field.low, field.high, value});
  }
  std::vector<DeviceNumber> numbers_;
};

// Lists the keys of one block of each kind; user-chosen names are in angle brackets.
class HelpPrinter final : public SchemaVisitor {
 public:
  [[nodiscard]] std::string take() { return std::move(out_); }

  void number(const Field& field, double&) override { line(field, range(field)); }
  void optional_number(const Field& field, std::optional<double>&) override {
    line(field, range(field));
  }
  void integer(const Field& field, std::int64_t&) override {
    line(field, fmt::format("whole, {}", range(field)));
  }
  void flag(const Field& field, bool&) override { line(field, "true or false"); }
  void text(const Field& field, std::string&) override { line(field, "text"); }
  void choice(const Field& field, std::size_t&) override {
    line(field, fmt::format("{}", fmt::join(field.words, " | ")));
  }
  void numbers(const Field& field, std::map<std::string, double>&) override {
    line(field, fmt::format("{{name: number}}, {}", range(field)));
  }
  void word_groups(const Field& field, std::vector<std::vector<std::string>>&) override {
    line(field, fmt::format("[[unit, ...], ...] of {}", fmt::join(field.words, ", ")));
  }
  [[nodiscard]] bool enter(const Block& block, bool) override {
    if (block.key == kInner) return false;
    const std::string label = block.key + ":";
    out_ += fmt::format("{:{}}{:<{}} {}\n", "", 2 * depth_, label, 34 - 2 * depth_, block.doc);
    entered_ = block.key;
    ++depth_;
    return true;
  }
  void leave() override { --depth_; }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>&) override {
    if (entered_ == "published") return {"<quantity>"};
    // Memory needs two levels to have an engine between them.
    return {std::string(kOuter), std::string(kInner)};
  }

 private:
  static constexpr std::string_view kOuter = "<level>";
  static constexpr std::string_view kInner = "<next>";

  static std::string range(const Field& field) {
    return fmt::format("{} .. {}", format_quantity(field.low, field.kind),
                       format_quantity(field.high, field.kind));
  }
  void line(const Field& field, const std::string& form) {
    out_ += fmt::format("{:{}}{:<{}} {:<44} {}{}\n", "", 2 * depth_, field.key, 34 - 2 * depth_,
                        form, field.doc, field.required ? " (required)" : "");
  }

  std::string out_;
  std::string entered_;
  int depth_ = 0;
};

}  // namespace

std::string print_device(const Device& device) {
  Device copy = device;
  YamlPrinter printer;
  walk(printer, copy);
  return printer.take();
}

std::vector<std::pair<std::string, std::string>> flatten(const Device& device) {
  Device copy = device;
  Flattener flattener;
  walk(flattener, copy);
  return flattener.take();
}

std::vector<DeviceNumber> device_numbers(const Device& device) {
  Device visited = device;
  NumberLister lister;
  walk(lister, visited);
  return lister.take();
}

const DeviceNumber* find_number(const std::vector<DeviceNumber>& numbers, std::string_view path) {
  for (const std::string_view prefix : {"", "memory.", "transfer."}) {
    const auto found = std::ranges::find_if(numbers, [&](const DeviceNumber& number) {
      return number.path.size() == prefix.size() + path.size() && number.path.starts_with(prefix) &&
             number.path.ends_with(path);
    });
    if (found != numbers.end()) return &*found;
  }
  return nullptr;
}

std::string schema_help() {
  Device example;
  HelpPrinter printer;
  walk(printer, example);
  return printer.take();
}

}  // namespace tilecast::hwdesc
