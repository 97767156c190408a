#include "measured/reference_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_values.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;
using hwdesc::fail_at;
using hwdesc::list;
using hwdesc::required;
using hwdesc::text;
using hwdesc::text_of;
using Kind = ConfigNode::Kind;

constexpr std::string_view kReferenceFormat = "tilecast.references/1";
const std::vector<std::string_view> kFileKeys = {"format", "name", "source", "tables"};
const std::vector<std::string_view> kTableKeys = {"where", "metric",  "unit",       "hardware",
                                                  "data",  "split",   "note",       "read_off_plot",
                                                  "rows",  "columns", "second_hand"};

bool flag(const ConfigNode& table, std::string_view key) {
  const ConfigNode* node = table.find(key);
  if (!node) return false;
  if (text_of(*node) == "true") return true;
  if (text_of(*node) == "false") return false;
  fail_at(*node, fmt::format("got {}, expected true or false", hwdesc::show_text(node->scalar)));
}

double value_in(const ConfigNode& cell, const std::string& unit) {
  const std::string& number = text_of(cell);
  const std::optional<double> value = base::parse_number(number);
  const bool in_range = unit == "tau" ? value >= -1.0 && value <= 1.0 : value >= 0.0;
  if (!value || !in_range) {
    fail_at(cell, fmt::format("got {}, expected a number {}", hwdesc::show_text(number),
                              unit == "tau" ? "from -1 to 1" : "that is not negative"));
  }
  return *value;
}

ReferenceRow common_of(const ConfigNode& table, const ReferenceRow& of_file) {
  ReferenceRow common = of_file;
  common.where = text(table, "where");
  common.metric = text(table, "metric");
  common.unit = text(table, "unit");
  common.hardware = text(table, "hardware");
  common.data = text(table, "data");
  common.split = text(table, "split");
  if (const ConfigNode* note = table.find("note")) common.note = text_of(*note);
  common.read_off_plot = flag(table, "read_off_plot");
  common.second_hand = flag(table, "second_hand");
  if (common.unit != "%" && common.unit != "tau") {
    const ConfigNode& unit = required(table, "unit");
    fail_at(unit, fmt::format("got {}, expected '%' or 'tau'", hwdesc::show_text(unit.scalar)));
  }
  return common;
}

void read_table(const ConfigNode& table, const ReferenceRow& of_file,
                std::vector<ReferenceRow>& rows) {
  hwdesc::allow_only(table, kTableKeys);
  const ReferenceRow common = common_of(table, of_file);
  const std::vector<ConfigNode>& columns = list(required(table, "columns"));
  for (const ConfigNode& line : list(required(table, "rows"))) {
    if (line.kind != Kind::kSequence || line.children.size() != columns.size() + 1) {
      fail_at(line, fmt::format("got {} entries, expected a subject and {} values",
                                line.children.size(), columns.size()));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      ReferenceRow row = common;
      row.subject = text_of(line.children.front());
      row.column = text_of(columns[i]);
      row.value = value_in(line.children[i + 1], common.unit);
      rows.push_back(std::move(row));
    }
  }
}

std::vector<std::string> files_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  if (failed) throw Error(fmt::format("{}: cannot read the folder: {}", path, failed.message()));
  if (files.empty()) throw Error(fmt::format("{}: no file here ends in .yaml", path));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<ReferenceRow> parse_references(const std::string& text_of_file,
                                           const std::string& file) {
  const ConfigNode root = hwdesc::read_config(text_of_file, file);
  if (root.kind == Kind::kNull) throw Error(fmt::format("{}: the file is empty", file));
  hwdesc::allow_only(root, kFileKeys);
  const ConfigNode& format = required(root, "format");
  if (text_of(format) != kReferenceFormat) {
    fail_at(format,
            fmt::format("got {}, expected {}", hwdesc::show_text(format.scalar), kReferenceFormat));
  }
  ReferenceRow of_file;
  of_file.file = text(root, "name");
  of_file.source = text(root, "source");
  std::vector<ReferenceRow> rows;
  for (const ConfigNode& table : list(required(root, "tables"))) read_table(table, of_file, rows);
  return rows;
}

std::vector<ReferenceRow> read_references(const std::string& path) {
  std::vector<ReferenceRow> rows;
  for (const std::string& file : files_of(path)) {
    const auto source = base::SourceText::read_file(file, hwdesc::kMaxConfigBytes);
    const auto read = parse_references(std::string(source.text()), file);
    rows.insert(rows.end(), read.begin(), read.end());
  }
  return rows;
}

std::string reference_folder() {
  const std::vector<std::string> presets = hwdesc::preset_names();
  if (presets.empty()) throw Error("references: no device presets are installed to look beside");
  const fs::path devices = fs::path(hwdesc::preset_path(presets.front())).parent_path();
  return (devices.parent_path() / "references").string();
}

}  // namespace tilecast::measured
