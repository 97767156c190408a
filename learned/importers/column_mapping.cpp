#include "learned/importers/column_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "diag/error.h"
#include "diag/source_text.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/units.h"

namespace tilecast::learned {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;
using hwdesc::show_text;

[[noreturn]] void fail(const ConfigNode& at, const std::string& message) {
  throw Error(
      fmt::format("{}: {}{}{}", at.at.describe(), at.key, at.key.empty() ? "" : ": ", message));
}

const std::string& text_of(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kScalar || node.scalar.empty()) fail(node, "expected a text");
  return node.scalar;
}

// One text, or a list of texts.
std::vector<std::string> texts_of(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::kScalar) return {text_of(node)};
  if (node.kind != ConfigNode::Kind::kSequence || node.children.empty()) {
    fail(node, "expected a text or a list of texts");
  }
  std::vector<std::string> texts;
  for (const ConfigNode& child : node.children) texts.push_back(text_of(child));
  return texts;
}

void allow_only(const ConfigNode& node, const std::vector<std::string_view>& keys) {
  if (!node.is_mapping()) fail(node, "expected a mapping");
  for (const ConfigNode& child : node.children) {
    if (std::find(keys.begin(), keys.end(), child.key) != keys.end()) continue;
    const std::string near = diag::nearest(child.key, keys);
    fail(child, fmt::format("unknown key; expected {}{}", fmt::join(keys, ", "),
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
}

RowFilter read_filter(const ConfigNode& node) {
  allow_only(node, {"column", "in", "not_in", "not_empty"});
  RowFilter filter{.where = node.at.describe() + ": where", .column = {}, .values = {}};
  const ConfigNode *column = node.find("column"), *in = node.find("in"),
                   *not_in = node.find("not_in"), *not_empty = node.find("not_empty");
  const bool lists = column != nullptr && (in != nullptr) != (not_in != nullptr);
  if (lists == (not_empty != nullptr)) {
    fail(node,
         "expected {column: NAME, in: [...]}, {column: NAME, not_in: [...]} or "
         "{not_empty: NAME}");
  }
  filter.column = text_of(lists ? *column : *not_empty);
  if (lists) filter.values = texts_of(in != nullptr ? *in : *not_in);
  filter.keep_listed = not_in == nullptr;
  return filter;
}

TableMapping read_table(const ConfigNode& node) {
  allow_only(node, {"files", "where", "columns", "keep", "fastest_of_equal"});
  TableMapping table;
  if (const ConfigNode* files = node.find("files")) table.files = texts_of(*files);
  if (const ConfigNode* where = node.find("where")) {
    if (where->kind == ConfigNode::Kind::kSequence) {
      for (const ConfigNode& child : where->children) table.filters.push_back(read_filter(child));
    } else {
      table.filters.push_back(read_filter(*where));
    }
  }
  const ConfigNode* columns = node.find("columns");
  if (columns == nullptr || !columns->is_mapping()) {
    fail(node, "expected `columns:`, a mapping from columns of the set to where they come from");
  }
  for (const ConfigNode& child : columns->children) table.rules.push_back(ColumnRule::read(child));
  if (const ConfigNode* keep = node.find("keep")) {
    if (keep->kind != ConfigNode::Kind::kSequence) fail(*keep, "expected a list of columns");
    for (const ConfigNode& child : keep->children) table.rules.push_back(ColumnRule::keep(child));
  }
  if (const ConfigNode* fastest = node.find("fastest_of_equal")) {
    const std::string& text = text_of(*fastest);
    if (text != "true" && text != "false") fail(*fastest, "expected true or false");
    table.fastest_of_equal = text == "true";
  }
  std::vector<std::string> seen;
  for (const ColumnRule& rule : table.rules) {
    if (std::find(seen.begin(), seen.end(), rule.target()) != seen.end()) {
      fail(*columns, fmt::format("column {} would be written twice", rule.target()));
    }
    seen.push_back(rule.target());
  }
  for (const std::string_view needed : {"op", "runtime_ns"}) {
    if (std::find(seen.begin(), seen.end(), needed) == seen.end()) {
      fail(*columns, fmt::format("{} is missing", needed == "op" ? "op" : "runtime"));
    }
  }
  return table;
}

fs::path shipped_folder() {
  const std::vector<std::string> presets = hwdesc::preset_names();
  if (presets.empty()) return {};
  return fs::path(hwdesc::preset_path(presets.front())).parent_path().parent_path() / "imports";
}

void read_timing(const ConfigNode& node, Manifest& manifest) {
  const std::string& text = text_of(node);
  if (text != "device" && text != "host") {
    fail(node, fmt::format("got {}, expected device or host", show_text(text)));
  }
  manifest.timing = text == "host" ? Timing::kHost : Timing::kDevice;
}

void read_dispatch(const ConfigNode& node, Manifest& manifest) {
  if (!node.is_mapping()) fail(node, "expected {OP CLASS: TIME, ...}");
  for (const ConfigNode& child : node.children) {
    try {
      manifest.dispatch[child.key] =
          Seconds{hwdesc::parse_quantity(text_of(child), hwdesc::UnitKind::kTime)};
    } catch (const Error& error) {
      fail(child, error.what());
    }
  }
}

void read_devices(const ConfigNode& node, Manifest& manifest) {
  if (!node.is_mapping()) fail(node, "expected {VALUE OF COLUMN device: PRESET, ...}");
  for (const ConfigNode& child : node.children) manifest.devices[child.key] = text_of(child);
}

// The cells of column `device` are keys of the manifest's `devices`: names that rules write
// themselves are devices, what they copy must be among those the mapping names.
void join_devices(ColumnMapping& mapping) {
  std::vector<std::string> named;
  for (const auto& [cell, device] : mapping.manifest.devices) named.push_back(cell);
  for (TableMapping& table : mapping.tables) {
    for (ColumnRule& rule : table.rules) {
      if (rule.target() != "device") continue;
      rule.allow_only(named);
      for (const std::string& text : rule.possible_texts()) {
        mapping.manifest.devices.try_emplace(text, text);
      }
    }
  }
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool RowFilter::passes(const std::vector<std::string_view>& cells) const {
  if (values.empty()) return !cells[index].empty();
  return (std::find(values.begin(), values.end(), cells[index]) != values.end()) == keep_listed;
}

bool TableMapping::knows(const std::string& file_name) const {
  return files.empty() || std::any_of(files.begin(), files.end(), [&](const std::string& pattern) {
           return fits_pattern(pattern, file_name);
         });
}

void TableMapping::bind(const std::vector<std::string>& columns, const std::string& file) {
  for (RowFilter& filter : filters) {
    filter.index = column_index(columns, filter.column, filter.where);
  }
  for (ColumnRule& rule : rules) rule.bind(columns, file);
}

const TableMapping* ColumnMapping::find(const std::string& path) const {
  const std::string name = fs::path(path).filename().string();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableMapping& table) { return table.knows(name); });
  return found == tables.end() ? nullptr : &*found;
}

std::vector<std::string> ColumnMapping::targets() const {
  std::vector<std::string> names;
  for (const TableMapping& table : tables) {
    for (const ColumnRule& rule : table.rules) {
      if (std::find(names.begin(), names.end(), rule.target()) == names.end()) {
        names.push_back(rule.target());
      }
    }
  }
  return names;
}

Manifest read_manifest_fields(const ConfigNode& root, const std::vector<std::string_view>& others) {
  std::vector<std::string_view> keys{"name",      "description", "source",   "licence", "timing",
                                     "how_timed", "device",      "dispatch", "dtype",   "devices"};
  keys.insert(keys.end(), others.begin(), others.end());
  allow_only(root, keys);
  Manifest manifest;
  const auto take = [&](std::string_view key, std::string& field, bool required) {
    const ConfigNode* node = root.find(key);
    if (node != nullptr) field = text_of(*node);
    if (node == nullptr && required) fail(root, fmt::format("{} is missing", key));
  };
  take("name", manifest.name, true);
  take("description", manifest.description, false);
  take("source", manifest.source, true);
  take("licence", manifest.licence, true);
  take("how_timed", manifest.how_timed, true);
  take("device", manifest.device, false);
  take("dtype", manifest.defaults_dtype, false);
  if (const ConfigNode* timing = root.find("timing")) {
    read_timing(*timing, manifest);
  } else {
    fail(root, "timing is missing");
  }
  if (const ConfigNode* devices = root.find("devices")) read_devices(*devices, manifest);
  if (const ConfigNode* dispatch = root.find("dispatch")) read_dispatch(*dispatch, manifest);
  if (!manifest.dispatch.empty() && manifest.timing == Timing::kDevice) {
    fail(*root.find("dispatch"), "times on the device hold no dispatch; expected timing: host");
  }
  return manifest;
}

std::string find_mapping(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".yaml")) return name;
  const std::vector<std::string> shipped = shipped_mappings();
  if (std::find(shipped.begin(), shipped.end(), name) != shipped.end()) {
    return (shipped_folder() / (name + ".yaml")).string();
  }
  throw Error(
      fmt::format("mapping '{}': there is none of this name; shipped are {}; or give the "
                  "path of a .yaml file",
                  name, fmt::join(shipped, ", ")));
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

ColumnMapping read_column_mapping(const std::string& name_or_path) {
  const std::string path = find_mapping(name_or_path);
  const auto text = diag::SourceText::read_file(path, hwdesc::kMaxConfigBytes);
  const ConfigNode root = hwdesc::read_config(std::string(text.text()), path);
  ColumnMapping mapping{read_manifest_fields(root, {"tables"}), {}};
  const ConfigNode* tables = root.find("tables");
  if (tables == nullptr || tables->kind != ConfigNode::Kind::kSequence) {
    fail(root, "tables is missing; expected a list of tables");
  }
  for (const ConfigNode& table : tables->children) mapping.tables.push_back(read_table(table));
  join_devices(mapping);
  if (mapping.manifest.device.empty() && mapping.manifest.devices.empty()) {
    fail(root, "device is missing; expected device, or devices and a column device");
  }
  return mapping;
}

}  // namespace tilecast::learned
