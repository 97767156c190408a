#include "measured/importers/column_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "measured/importers/import_manifest.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
using hwdesc::ConfigNode;

RowFilter read_filter(const ConfigNode& node) {
  allow_only(node, {"column", "in", "not_in", "not_empty"});
  RowFilter filter{.where = node.at.describe() + ": where"};
  const ConfigNode *column = node.find("column"), *in = node.find("in"),
                   *not_in = node.find("not_in"), *not_empty = node.find("not_empty");
  const bool lists = column != nullptr && (in != nullptr) != (not_in != nullptr);
  if (lists == (not_empty != nullptr)) {
    fail_at(node,
            "expected {column: NAME, in: [...]}, {column: NAME, not_in: [...]} or "
            "{not_empty: NAME}");
  }
  filter.columns = {text_of(lists ? *column : *not_empty)};
  if (lists) filter.values = texts(in != nullptr ? *in : *not_in);
  filter.keep_listed = not_in == nullptr;
  filter.reason = lists ? fmt::format("`where` on column '{}'", filter.columns[0])
                        : fmt::format("column '{}' is empty", filter.columns[0]);
  return filter;
}

void check_targets(const TableMapping& table, const ConfigNode& at) {
  std::vector<std::string> seen;
  for (const ColumnRule& rule : table.rules) {
    if (std::find(seen.begin(), seen.end(), rule.target()) != seen.end()) {
      fail_at(at, fmt::format("column {} would be written twice", rule.target()));
    }
    seen.push_back(rule.target());
  }
  const auto has = [&](std::string_view target) {
    return std::find(seen.begin(), seen.end(), target) != seen.end();
  };
  if (!has("runtime_ns")) fail_at(at, "runtime is missing");
  if (int{has("op")} + int{has("kernel")} + int{has("program")} != 1) {
    fail_at(at, "expected one of op, kernel and program: what ran");
  }
}

std::vector<ConfigNode> filters_of(const ConfigNode& where) {
  return where.kind == ConfigNode::Kind::kSequence ? where.children : std::vector{where};
}

TableMapping read_table(const ConfigNode& node) {
  allow_only(node,
             {"files", "header", "where", "columns", "keep", "parameters", "fastest_of_equal"});
  TableMapping table;
  if (const ConfigNode* files = node.find("files")) table.files = texts(*files);
  if (const ConfigNode* header = node.find("header")) table.header = texts(*header);
  if (const ConfigNode* where = node.find("where")) {
    for (const ConfigNode& filter : filters_of(*where)) {
      table.filters.push_back(read_filter(filter));
    }
  }
  const ConfigNode* columns = node.find("columns");
  if (columns == nullptr || !columns->is_mapping()) {
    fail_at(node, "expected `columns:`, a mapping from columns of the set to where they come from");
  }
  for (const ConfigNode& child : columns->children) table.rules.push_back(ColumnRule::read(child));
  if (const ConfigNode* keep = node.find("keep")) {
    for (const ConfigNode& column : list(*keep)) table.rules.push_back(ColumnRule::keep(column));
  }
  if (const ConfigNode* parameters = node.find("parameters")) {
    for (const ConfigNode& column : list(*parameters)) {
      table.rules.push_back(ColumnRule::parameter(column));
    }
  }
  if (const ConfigNode* fastest = node.find("fastest_of_equal")) {
    constexpr std::string_view kAnswers[] = {"false", "true"};
    table.fastest_of_equal = choice(*fastest, kAnswers) == 1;
  }
  check_targets(table, *columns);
  return table;
}

// Completes `table` with the entries of `every_table`: both `where` apply, `columns` are merged per
// column.
ConfigNode completed(const ConfigNode& shared, const ConfigNode& table) {
  ConfigNode all = shared;
  all.at = table.at;
  for (const ConfigNode& own : table.children) {
    ConfigNode* known = all.find(own.key);
    if (known == nullptr) {
      all.children.push_back(own);
    } else if (own.key == "where") {
      ConfigNode both = *known;
      both.kind = ConfigNode::Kind::kSequence;
      both.children = filters_of(*known);
      std::ranges::copy(filters_of(own), std::back_inserter(both.children));
      *known = std::move(both);
    } else if (own.key == "columns" && known->is_mapping() && own.is_mapping()) {
      for (const ConfigNode& column : own.children) {
        if (ConfigNode* same = known->find(column.key)) {
          *same = column;
        } else {
          known->children.push_back(column);
        }
      }
    } else {
      *known = own;
    }
  }
  return all;
}

// Cells of column `device` are keys of the manifest's `devices`. Names written by constant or map
// rules are devices themselves; copied cells must be among those that the mapping names.
void join_devices(const ConfigNode& root, ColumnMapping& mapping) {
  const std::string folder = fs::path(root.at.file).parent_path().string();
  std::vector<std::string> named;
  for (const auto& [cell, device] : mapping.manifest.devices) named.push_back(cell);
  for (TableMapping& table : mapping.tables) {
    for (ColumnRule& rule : table.rules) {
      if (rule.target() != "device") continue;
      rule.allow_only(named);
      for (const std::string& text : rule.possible_texts()) {
        if (mapping.manifest.devices.contains(text)) continue;
        mapping.manifest.devices[text] = resolve_device(text, folder);
      }
    }
  }
}

// The mapping for tile runs as listed by autotuners. Runs that failed or have no tile are left out.
TableMapping tile_runs(const std::vector<std::string>& columns, const ConfigNode& at) {
  constexpr std::string_view kRunBounds[] = {"output_bounds", "kernel_bounds", "input_bounds"};
  constexpr std::string_view kKept[] = {"config_index", "is_default", "iteration_bounds",
                                        "compiler_cycles"};
  const auto is_there = [&](std::string_view column) {
    return std::ranges::find(columns, column) != columns.end();
  };
  TableMapping table;
  RowFilter tile{.where = at.at.describe(), .reason = "no bounds: the run has no tile"};
  table.rules = {ColumnRule::as_named("kernel", at, "file"),
                 ColumnRule::as_named("runtime_ns", at, "compute_time_ns")};
  if (is_there("family")) table.rules.push_back(ColumnRule::as_named("family", at));
  for (const std::string_view bounds : kRunBounds) {
    if (!is_there(bounds)) continue;
    table.rules.push_back(ColumnRule::as_named(std::string(bounds), at));
    tile.columns.emplace_back(bounds);
  }
  for (const std::string_view kept : kKept) {
    if (is_there(kept))
      table.rules.push_back(ColumnRule::as_named(fmt::format("x_{}", kept), at, std::string(kept)));
  }
  if (is_there("error")) {
    table.filters.push_back({.where = at.at.describe(),
                             .columns = {"error"},
                             .values = {"", "0", "false"},
                             .reason = "the run failed (column 'error')"});
  }
  table.filters.push_back(std::move(tile));
  return table;
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
  return std::ranges::any_of(index, [&](std::size_t at) {
    if (values.empty()) return !cells[at].empty();
    return (std::ranges::find(values, cells[at]) != values.end()) == keep_listed;
  });
}

bool TableMapping::knows(const std::string& path) const {
  const std::string name = fs::path(path).filename().string();
  return files.empty() || std::any_of(files.begin(), files.end(), [&](const std::string& pattern) {
           return fits_pattern(pattern, pattern.find('/') == std::string::npos ? name : path);
         });
}

void TableMapping::bind(const std::vector<std::string>& columns, const std::string& file) {
  for (RowFilter& filter : filters) {
    filter.index.clear();
    for (const std::string& column : filter.columns) {
      filter.index.push_back(column_index(columns, column, filter.where));
    }
  }
  for (ColumnRule& rule : rules) rule.bind(columns, file);
}

const TableMapping* ColumnMapping::find(const std::string& path) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableMapping& table) { return table.knows(path); });
  return found == tables.end() ? nullptr : &*found;
}

std::vector<TableMapping> ColumnMapping::all_of(const std::string& path) const {
  std::vector<TableMapping> found;
  const TableMapping* first = find(path);
  for (const TableMapping& table : tables) {
    if (first != nullptr && table.files == first->files) found.push_back(table);
  }
  return found;
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

TableMapping mapping_as_named(const std::vector<std::string>& columns, const std::string& file) {
  TableMapping table;
  ConfigNode at;
  at.at = {file, 1, 1};
  if (std::ranges::find(columns, "compute_time_ns") != columns.end()) return tile_runs(columns, at);
  for (const std::string& column : columns) {
    table.rules.push_back(ColumnRule::as_named(column, at));
  }
  check_targets(table, at);
  return table;
}

ColumnMapping read_column_mapping(const std::string& name_or_path, const ImportOptions& options,
                                  const std::string& input) {
  if (name_or_path.empty()) return {read_import_manifest({}, options, input), {{}}};
  const ConfigNode root = read_mapping_file(name_or_path);
  ColumnMapping mapping{read_manifest_fields(root, {"tables", "every_table"}), {}};
  const ConfigNode* tables = root.find("tables");
  const ConfigNode* shared = root.find("every_table");
  if (shared != nullptr && (tables == nullptr || !shared->is_mapping())) {
    fail_at(*shared, "every_table: expected a mapping, and tables that it completes");
  }
  if (tables == nullptr) {
    mapping.tables.emplace_back();
  } else {
    for (const ConfigNode& table : list(*tables)) {
      const bool is_completed = shared != nullptr && table.is_mapping();
      mapping.tables.push_back(read_table(is_completed ? completed(*shared, table) : table));
    }
  }
  if (!options.device.empty()) {  // given by the user, independent of file names
    for (TableMapping& table : mapping.tables) {
      std::erase_if(table.rules, [](const ColumnRule& rule) {
        return rule.target() == "device" && rule.is_by_file_name();
      });
    }
  }
  join_devices(root, mapping);
  if (mapping.manifest.device.empty() && mapping.manifest.devices.empty() &&
      options.device.empty()) {
    fail_at(root, "device is missing; expected device, or devices and a column device");
  }
  return mapping;
}

}  // namespace tilecast::measured
