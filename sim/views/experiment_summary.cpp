// Every experiment in a few lines of one Markdown table: what the README shows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/views/evaluation.h"
#include "sim/views/experiment.h"
#include "sim/views/experiment_claims.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using validation::Cell;
using validation::ExperimentResult;
using validation::ResultStratum;

constexpr std::size_t kShortHash = 8;
constexpr std::string_view kColumns[] = {"roofline", "analytical", "calibrated"};

const Cell* cell(const ExperimentResult& result, const ResultStratum& stratum,
                 std::string_view column, Metric metric) {
  const std::vector<std::string>& columns = result.experiment.columns;
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return nullptr;
  return &stratum.cells[static_cast<std::size_t>(found - columns.begin())]
                       [static_cast<std::size_t>(metric)];
}

// "6.3 (4.6)": MAPE and median; with seeds the mean of them.
std::string errors(const ExperimentResult& result, const ResultStratum& stratum,
                   std::string_view column) {
  const Cell* mape = cell(result, stratum, column, Metric::kMape);
  const Cell* median = cell(result, stratum, column, Metric::kMedianApe);
  if (mape == nullptr || !mape->value) return "-";
  return fmt::format("{:.1f} ({:.1f})", 100 * *mape->value,
                     median != nullptr && median->value ? 100 * *median->value : 0);
}

// Within kernels over tiles, where the rows have them, else over the rows.
std::string tau(const ExperimentResult& result, const ResultStratum& stratum) {
  const std::string& last = result.experiment.columns.back();
  for (const auto& [metric, what] :
       {std::pair(Metric::kTileTau, " (tiles)"), std::pair(Metric::kRowTau, "")}) {
    const Cell* found = cell(result, stratum, last, metric);
    if (found != nullptr && found->value) return fmt::format("{:.2f}{}", *found->value, what);
  }
  return "-";
}

std::string fitted_on(const ExperimentResult& result) {
  if (result.rounds.empty() || !result.rounds.front().fitted) return "nothing";
  const auto [least, most] = std::ranges::minmax(result.rounds, {}, &validation::Round::fit_rows);
  const std::string rows = least.fit_rows == most.fit_rows
                               ? fmt::format("{}", most.fit_rows)
                               : fmt::format("{} to {}", least.fit_rows, most.fit_rows);
  const std::string refused =
      result.refused() == 0
          ? ""
          : fmt::format("; {} of {} fits refused", result.refused(), result.rounds.size());
  return fmt::format("{} rows: {}{}", rows, split_text(result.experiment.split), refused);
}

std::string bars_of(const ExperimentResult& result, const std::string& stratum) {
  std::size_t met = 0, all = 0;
  for (const validation::BarResult& bar : result.bars) {
    if (bar.stratum != stratum) continue;
    ++all;
    met += bar.met ? 1 : 0;
  }
  return all == 0 ? "-" : fmt::format("{} of {} met", met, all);
}

bool is_shown(const ExperimentResult& result, const ResultStratum& stratum) {
  if (stratum.breakdown == measured::Breakdown::kAll) return true;
  if (stratum.breakdown == measured::Breakdown::kSet && result.sets.size() > 1) return true;
  return std::ranges::count(result.bars, stratum.title(), &validation::BarResult::stratum) > 0;
}

std::string data_of(const ExperimentResult& result) {
  std::set<std::string> hashes;
  for (const validation::ResultSet& set : result.sets)
    hashes.insert(set.hash.substr(0, kShortHash));
  return fmt::format("{}", fmt::join(hashes, ", "));
}

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string summary_of_others(std::span<const ExperimentResult> results) {
  std::string out = line({"experiment", "scored", "n", "fitted on", "roofline", "preset",
                          "calibrated", "tau-b", "bars", "data"});
  out += line(std::vector<std::string>(10, "---"));
  for (const ExperimentResult& result : results) {
    if (result.experiment.learns()) continue;
    bool first = true;
    for (const ResultStratum& stratum : result.strata) {
      if (!is_shown(result, stratum)) continue;
      std::vector<std::string> cells{first ? result.experiment.name : "", stratum.title(),
                                     std::to_string(stratum.rows), first ? fitted_on(result) : ""};
      for (const std::string_view column : kColumns) {
        cells.push_back(errors(result, stratum, column));
      }
      cells.push_back(tau(result, stratum));
      cells.push_back(bars_of(result, stratum.title()));
      cells.push_back(first ? data_of(result) : "");
      out += line(cells);
      first = false;
    }
  }
  return out;
}

std::string findings_of(const ExperimentResult& result) {
  std::size_t counts[3] = {};
  for (const validation::DirectionResult& one : result.directions) {
    ++counts[static_cast<std::size_t>(one.verdict)];
  }
  if (result.directions.empty()) return "-";
  return fmt::format("{} agree, {} disagree, {} undecided", counts[0], counts[1], counts[2]);
}

enum class Part { kOthers, kLearned, kHybrid };

Part part_of(const ExperimentResult& result) {
  if (!result.experiment.hybrids.empty()) return Part::kHybrid;
  return result.experiment.learns() ? Part::kLearned : Part::kOthers;
}

std::size_t bars_met(const ExperimentResult& result) {
  return static_cast<std::size_t>(
      std::ranges::count(result.bars, true, &validation::BarResult::met));
}

// One line per column, of all rows.
std::string summary_by_column(std::span<const ExperimentResult> results, Part part,
                              std::span<const Metric> metrics) {
  const bool hybrids = part == Part::kHybrid;
  std::vector<std::string> titles{"experiment", "fitted on", "n", "model"};
  for (const Metric metric : metrics) titles.push_back(metric_title(metric));
  titles.emplace_back("bars");
  if (!hybrids) titles.emplace_back("findings");
  titles.emplace_back("data");
  std::string out = line(titles) + line(std::vector<std::string>(titles.size(), "---"));
  for (const ExperimentResult& result : results) {
    if (part_of(result) != part) continue;
    const ResultStratum& all = result.strata.front();
    bool first = true;
    for (const std::string& column : result.experiment.columns) {
      std::vector<std::string> cells{first ? result.experiment.name : "",
                                     first ? fitted_on(result) : "",
                                     first ? std::to_string(all.rows) : "", column};
      for (const Metric metric : metrics) {
        cells.push_back(experiment_cell(metric, *cell(result, all, column, metric)));
      }
      const std::string bars =
          hybrids ? fmt::format("{} of {} met", bars_met(result), result.bars.size())
                  : bars_of(result, all.title());
      cells.push_back(first ? bars : "");
      if (!hybrids) cells.push_back(first ? findings_of(result) : "");
      cells.push_back(first ? data_of(result) : "");
      out += line(cells);
      first = false;
    }
  }
  return out;
}

}  // namespace

std::string experiments_summary(std::span<const ExperimentResult> results) {
  constexpr Metric kOfLearned[] = {Metric::kMape, Metric::kRowTau, Metric::kTileTau,
                                   Metric::kTileSizeApe};
  constexpr Metric kOfHybrids[] = {Metric::kMape,    Metric::kP90Ape,   Metric::kRowTau,
                                   Metric::kTileTau, Metric::kCoverage, Metric::kIntervalWidth};
  const auto has = [&](Part part) {
    return std::ranges::any_of(results, [&](const auto& r) { return part_of(r) == part; });
  };
  std::vector<std::string> tables;
  if (has(Part::kOthers) || results.empty()) tables.push_back(summary_of_others(results));
  if (has(Part::kLearned)) {
    tables.push_back(summary_by_column(results, Part::kLearned, kOfLearned));
  }
  if (has(Part::kHybrid)) {
    tables.push_back(summary_by_column(results, Part::kHybrid, kOfHybrids));
  }
  return fmt::format("{}", fmt::join(tables, "\n"));
}

}  // namespace tilecast::sim::views
