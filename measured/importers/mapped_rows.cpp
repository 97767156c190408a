#include "measured/importers/mapped_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/source_text.h"
#include "base/text.h"
#include "hwdesc/config_reader.h"
#include "ir/load_program.h"

namespace tilecast::measured {
namespace {

// The first filter that the row does not pass; null if it passes all.
const RowFilter* stopped_by(const TableMapping& table, const std::vector<std::string_view>& row) {
  for (const RowFilter& filter : table.filters) {
    if (!filter.passes(row)) return &filter;
  }
  return nullptr;
}

bool tells_apart(const std::string& target) {
  return !target.starts_with("x_") && target != "runtime_ns" && target != "dispatch_ns" &&
         target != "spread_ns" && target != "repeats" && target != "split" && target != "threads" &&
         target != "vector" && target != "direct";
}

bool names_file(const std::string& target) {
  return target == "kernel" || target == "program";
}

}  // namespace

MappedRows::MappedRows(TableMapping table, const std::vector<std::string>& source_columns,
                       const std::string& source_file, MappedSet& set)
    : table_(std::move(table)),
      set_(set),
      folder_(set.module_folder.empty() ? std::filesystem::path(source_file).parent_path().string()
                                        : set.module_folder),
      cells_(set.targets.size()) {
  table_.bind(source_columns, source_file);
  const auto place = [&](const std::string& target) {
    const auto& targets = set_.targets;
    return static_cast<std::size_t>(std::find(targets.begin(), targets.end(), target) -
                                    targets.begin());
  };
  for (const ColumnRule& rule : table_.rules) {
    places_.push_back(
        {place(rule.target()), names_file(rule.target()), tells_apart(rule.target())});
  }
  runtime_ = place("runtime_ns");
  device_ = place("device");
}

bool MappedRows::takes(const std::vector<std::string_view>& row) const {
  return stopped_by(table_, row) == nullptr;
}

void MappedRows::add(const std::vector<std::string_view>& row,
                     const std::function<std::string()>& where) {
  if (const RowFilter* filter = stopped_by(table_, row)) {
    ++set_.report.left_out[filter->reason];
    return;
  }
  try {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      std::string& cell = cells_[places_[i].cell];
      table_.rules[i].apply(row, cell);
      if (places_[i].is_file) cell = set_.modules.take(folder_, cell);
    }
  } catch (const Error& error) {
    throw RowError(fmt::format("{}: {}", where(), error.what()));
  }
  if (table_.fastest_of_equal) return hold();
  write(cells_);
}

void MappedRows::write(const std::vector<std::string>& cells) {
  if (device_ < cells.size()) set_.devices.insert(cells[device_]);
  set_.writer.add(cells);
  ++set_.report.rows;
}

void MappedRows::hold() {
  std::string key;
  for (const Place& place : places_) {
    if (place.tells_apart) key += cells_[place.cell] + '\n';
  }
  const auto [found, is_new] = equal_.emplace(std::move(key), held_.size());
  if (is_new) {
    held_.push_back(cells_);
    return;
  }
  std::vector<std::string>& fastest = held_[found->second];
  if (base::parse_number(cells_[runtime_]) < base::parse_number(fastest[runtime_]))
    fastest = cells_;
  ++set_.report.left_out["slower than a run of the same work and tile"];
}

void MappedRows::finish() {
  for (const std::vector<std::string>& cells : held_) {
    write(cells);
  }
  held_.clear();
  equal_.clear();
}

namespace fs = std::filesystem;

std::string ModuleCopies::take(const std::string& folder, std::string_view cell) {
  const std::string_view file = cell.substr(0, cell.find('#'));
  const fs::path path(file);
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || path.is_absolute() || std::ranges::count(path, "..") > 0) {
    throw Error(fmt::format("got {}, expected an HLO file beside the table or in a folder there",
                            hwdesc::show_text(cell)));
  }
  const std::string from = (fs::path(folder) / path.parent_path()).lexically_normal().string();
  const auto [known, is_new] = known_.emplace(name, from);
  if (!is_new && known->second != from) {
    throw Error(fmt::format("{} is in {} and in {}: the set can hold one file of a name", name,
                            known->second, from));
  }
  if (is_new) {
    const auto text = base::SourceText::read_file((fs::path(from) / name).string());
    static_cast<void>(ir::load_module(text.file(), {}));
    writer_.add_file("kernels/" + name, text.text());
  }
  return fmt::format("kernels/{}{}", name, cell.substr(file.size()));
}

}  // namespace tilecast::measured
