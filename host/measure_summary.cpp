#include "host/measure_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/archive.h"
#include "base/error.h"
#include "base/source_text.h"
#include "base/statistics.h"
#include "base/text.h"
#include "measured/csv.h"
#include "measured/measurement_set.h"
#include "measured/metrics.h"
#include "measured/tile_cells.h"

namespace tilecast::host {
namespace {

using measured::CsvRow;
using measured::CsvTable;

constexpr double kLongNs = 5000;

CsvTable table_of(const std::string& directory, std::string_view file) {
  const std::string path = (std::filesystem::path(directory) / file).string();
  if (!base::is_file(path)) {
    throw Error(fmt::format("{}: no such file; expected a set of `measure host`", path));
  }
  return measured::read_csv(base::SourceText::read_file(path));
}

double nanoseconds(const CsvTable& table, const CsvRow& row) {
  const std::string_view text = table.cell(row, "runtime_ns");
  const std::optional<double> value = base::parse_number(text);
  if (!(value > 0.0)) {
    throw Error(fmt::format("{}: got '{}', expected a time above 0", table.where(row, "runtime_ns"),
                            text.substr(0, 60)));
  }
  return *value;
}

std::string cell(const CsvTable& table, const CsvRow& row, std::string_view column) {
  return std::string(table.cell(row, column));
}

// Kernel -> tile -> ns.
using Times = std::map<std::string, std::map<std::string, double>>;

Times times_of(const CsvTable& table) {
  Times times;
  for (const CsvRow& row : table.rows) {
    times[cell(table, row, "kernel")].emplace(to_string(measured::tile_cells(table, row)),
                                              nanoseconds(table, row));
  }
  return times;
}

std::optional<double> quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  return base::quantile(std::move(values), q);
}

std::vector<ClassSummary> classes_of(const CsvTable& table) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> found;
  for (const CsvRow& row : table.rows) {
    found[{cell(table, row, "x_set"), cell(table, row, "class")}][cell(table, row, "kernel")]
        .push_back(nanoseconds(table, row));
  }
  std::vector<ClassSummary> classes;
  for (const auto& [key, kernels] : found) {
    ClassSummary summary{.set = key.first, .op_class = key.second, .kernels = kernels.size()};
    std::vector<double> ratios;
    for (const auto& [kernel, times] : kernels) {
      summary.rows += times.size();
      summary.at_least_5us += static_cast<std::size_t>(
          std::ranges::count_if(times, [](double ns) { return ns >= kLongNs; }));
      const auto [least, most] = std::ranges::minmax(times);
      if (times.size() > 1) ratios.push_back(most / least);
    }
    summary.ranked = ratios.size();
    summary.worst_over_best = quantile_of(std::move(ratios), 0.5);
    classes.push_back(std::move(summary));
  }
  return classes;
}

std::vector<SkipSummary> skipped_of(const CsvTable& table) {
  struct Found {
    std::set<std::string> kernels;
    std::map<std::string, std::size_t> details;
    std::size_t rows = 0;
  };
  std::map<std::pair<std::string, std::string>, Found> found;
  for (const CsvRow& row : table.rows) {
    Found& entry = found[{cell(table, row, "set"), cell(table, row, "reason")}];
    entry.kernels.insert(cell(table, row, "hash"));
    ++entry.details[cell(table, row, "detail")];
    ++entry.rows;
  }
  std::vector<SkipSummary> skipped;
  for (const auto& [key, entry] : found) {
    const auto most =
        std::ranges::max_element(entry.details, {}, [](const auto& d) { return d.second; });
    skipped.push_back({key.first, key.second, entry.kernels.size(), entry.rows, most->first});
  }
  return skipped;
}

}  // namespace

SetSummary summarise(const std::string& directory) {
  const CsvTable rows = table_of(directory, "measurements.csv");
  SetSummary summary{.classes = classes_of(rows),
                     .skipped = skipped_of(table_of(directory, "skipped.csv")),
                     .kernels = times_of(rows).size(),
                     .rows = rows.rows.size()};
  return summary;
}

LabelSummary summarise_labels(const std::string& directory) {
  const std::string manifest = (std::filesystem::path(directory) / "manifest.yaml").string();
  const CsvTable table = table_of(directory, "measurements.csv");
  LabelSummary summary{.quantities = {},
                       .skipped = skipped_of(table_of(directory, "skipped.csv")),
                       .rows = table.rows.size()};
  std::set<std::string> kernels;
  for (const CsvRow& row : table.rows) kernels.insert(cell(table, row, "kernel"));
  summary.kernels = kernels.size();
  const std::string text(base::SourceText::read_file(manifest).text());
  for (const measured::Quantity& quantity : measured::read_manifest(text, manifest).quantities) {
    std::vector<double> values;
    for (const CsvRow& row : table.rows) {
      const auto value = base::parse_number(table.cell(row, "q_" + quantity.name));
      if (value) values.push_back(*value);
    }
    QuantitySummary one{.name = quantity.name, .unit = quantity.unit, .rows = values.size()};
    one.distinct = std::set<double>(values.begin(), values.end()).size();
    one.least = quantile_of(values, 0).value_or(0);
    one.median = quantile_of(values, 0.5).value_or(0);
    one.most = quantile_of(values, 1).value_or(0);
    summary.quantities.push_back(std::move(one));
  }
  return summary;
}

Repeatability repeatability(const std::string& first, const std::string& second) {
  const Times before = times_of(table_of(first, "measurements.csv"));
  const Times after = times_of(table_of(second, "measurements.csv"));
  Repeatability result;
  std::vector<double> differences, sizes;
  std::vector<measured::Ranking> rankings;
  for (const auto& [kernel, tiles] : after) {
    const auto known = before.find(kernel);
    if (known == before.end()) continue;
    measured::Ranking ranking;
    for (const auto& [tile, ns] : tiles) {
      const auto then = known->second.find(tile);
      if (then == known->second.end()) continue;
      ranking.push_back({.predicted = ns, .measured = then->second});
      differences.push_back(ns / then->second - 1);
      sizes.push_back(std::abs(differences.back()));
    }
    if (ranking.empty()) continue;
    result.pairs += ranking.size();
    ++result.kernels;
    if (ranking.size() > 1) ++result.ranked;
    rankings.push_back(std::move(ranking));
  }
  result.median = quantile_of(sizes, 0.5);
  result.p90 = quantile_of(sizes, 0.9);
  result.shift = quantile_of(differences, 0.5);
  result.tau = measured::mean_tau_b(rankings);
  return result;
}

}  // namespace tilecast::host
