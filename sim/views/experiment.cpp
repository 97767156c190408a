#include "sim/views/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/views/evaluation.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using hybrid::BarResult;
using hybrid::Cell;
using hybrid::ExperimentResult;
using hybrid::ResultSet;
using hybrid::ResultStratum;
using hybrid::Round;
using hybrid::SplitKind;
using learned::Metric;

constexpr std::size_t kShortHash = 12;

bool is_share(Metric metric) {
  return metric != Metric::kBias && metric != Metric::kRowTau && metric != Metric::kTileTau;
}

std::string exact(Metric metric, double value) {
  if (std::isnan(value)) return "-";
  return is_share(metric) ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.3f}", value);
}

std::string cell_text(Metric metric, const Cell& cell) {
  if (!cell.worst) return metric_cell(metric, {.value = cell.value, .interval = cell.interval});
  return fmt::format("{} (worst {})", metric_value(metric, *cell.value),
                     metric_value(metric, *cell.worst));
}

// Those that every column answered, of those there are.
std::string row_count(const ResultStratum& stratum) {
  return stratum.rows == stratum.rows_measured
             ? std::to_string(stratum.rows)
             : fmt::format("{} of {}", stratum.rows, stratum.rows_measured);
}

// Every stratum x column.
std::vector<std::vector<std::string>> table_rows(const ExperimentResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const ResultStratum& stratum : result.strata) {
    for (std::size_t i = 0; i < result.experiment.columns.size(); ++i) {
      std::vector<std::string> cells{stratum.title(), row_count(stratum),
                                     std::to_string(stratum.works), result.experiment.columns[i]};
      for (const Metric metric : result.experiment.metrics) {
        cells.push_back(cell_text(metric, stratum.cells[i][static_cast<std::size_t>(metric)]));
      }
      rows.push_back(std::move(cells));
    }
  }
  return rows;
}

std::vector<std::string> titles(const ExperimentResult& result) {
  std::vector<std::string> all{"rows", "n", "works", "model"};
  for (const Metric metric : result.experiment.metrics) all.push_back(metric_title(metric));
  return all;
}

std::string set_text(const ResultSet& set) {
  return fmt::format("{}: {} rows, {} left out, measured on {}, hash {}", set.name, set.rows,
                     set.left_out, set.device, set.hash.substr(0, kShortHash));
}

// Smallest and largest, "12" or "10 to 12".
std::string range(const std::vector<Round>& rounds, std::size_t Round::*field) {
  const auto [low, high] = std::ranges::minmax(rounds, {}, field);
  return low.*field == high.*field ? fmt::format("{}", low.*field)
                                   : fmt::format("{} to {}", low.*field, high.*field);
}

// Which rounds were refused and what the others changed; one line when there are many.
std::vector<std::string> fit_lines(const ExperimentResult& result) {
  std::vector<std::string> lines;
  const std::vector<Round>& rounds = result.rounds;
  if (rounds.empty() || !rounds.front().fitted) return {"fitted on nothing: presets as they are"};
  lines.push_back(
      fmt::format("fitted on {} rows of {} kernels, scored on {}; fits refused: {} of {}",
                  range(rounds, &Round::fit_rows), range(rounds, &Round::fit_works),
                  range(rounds, &Round::score_rows), result.refused(), rounds.size()));
  constexpr std::size_t kListed = 5;
  if (rounds.size() > kListed) return lines;
  for (const Round& round : rounds) {
    lines.push_back(fmt::format(
        "{}{}", round.name.empty() ? "" : round.name + ": ",
        round.accepted ? fmt::format("{}", fmt::join(round.changed, ", "))
                       : "the fit made left-out rows worse and was refused; preset scored"));
  }
  return lines;
}

std::string bar_text(const BarResult& result) {
  constexpr std::string_view kSigns[] = {"<=", ">=", "<"};
  const hybrid::Bar& bar = result.bar;
  std::string limit = exact(bar.metric, result.limit);
  if (!bar.limit_column.empty()) limit = fmt::format("{} ({})", limit, bar.limit_column);
  return fmt::format("{}: {}{} of {}, {}: {}, bar {} {}", result.met ? "met" : "NOT MET",
                     bar.over == hybrid::Statistic::kWorst ? "worst " : "",
                     learned::name(bar.metric), bar.column, result.stratum,
                     result.value ? exact(bar.metric, *result.value) : "undefined",
                     kSigns[static_cast<std::size_t>(bar.kind)], limit);
}

}  // namespace

std::string split_text(const hybrid::SplitSpec& split) {
  switch (split.kind) {
    case SplitKind::kNone:
      return "nothing fitted";
    case SplitKind::kFixed:
      return "fixed: the named rows fitted, others scored";
    case SplitKind::kKFold:
      return fmt::format("{} folds by kernel (seed {}), pooled", split.folds, split.seed);
    case SplitKind::kLargest:
      return fmt::format("the largest {} % of sizes of each op class scored", percent(split.share));
    case SplitKind::kLeaveOneClassOut:
      return "one op class left out after the other, pooled";
    case SplitKind::kLeaveOneFamilyOut:
      return fmt::format(
          "one family left out after the other, {} random works of the others fitted, pooled",
          split.works);
    case SplitKind::kSampledRows:
      return fmt::format("{} random rows of one kernel fitted, the others scored; {} seeds",
                         split.rows, split.seeds);
    case SplitKind::kSampledWorks:
      return fmt::format("{} random works fitted, the others scored; {} seeds", split.works,
                         split.seeds);
  }
  return "";
}

std::string experiment_text(const ExperimentResult& result) {
  std::string out = fmt::format("{}: {}\n", result.experiment.name, result.experiment.claim);
  for (const ResultSet& set : result.sets) out += fmt::format("set     {}\n", set_text(set));
  out += fmt::format("split   {}\n", split_text(result.experiment.split));
  for (const std::string& line : fit_lines(result)) out += fmt::format("fit     {}\n", line);
  std::vector<Column> columns;
  for (const std::string& title : titles(result)) {
    const bool text = title == "rows" || title == "model";
    columns.push_back({title, text ? Align::kLeft : Align::kRight});
  }
  TextTable table(columns);
  for (const std::vector<std::string>& row : table_rows(result)) table.add(row);
  out += table.render();
  for (const BarResult& bar : result.bars) out += fmt::format("bar     {}\n", bar_text(bar));
  for (const std::string& note : result.notes) out += fmt::format("note    {}\n", note);
  return out;
}

std::string experiment_markdown(const ExperimentResult& result) {
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::string out = fmt::format("### {}\n\n{}\n\nSplit: {}.\n\n", result.experiment.name,
                                result.experiment.claim, split_text(result.experiment.split));
  for (const std::string& text : fit_lines(result)) out += fmt::format("- {}\n", text);
  for (const ResultSet& set : result.sets) out += fmt::format("- data {}\n", set_text(set));
  for (const std::string& note : result.notes) out += fmt::format("- {}\n", note);
  const std::vector<std::string> header = titles(result);
  out += "\n" + line(header) + line(std::vector<std::string>(header.size(), "---"));
  for (const std::vector<std::string>& row : table_rows(result)) out += line(row);
  if (!result.bars.empty()) out += "\n";
  for (const BarResult& bar : result.bars) out += fmt::format("- {}\n", bar_text(bar));
  return out;
}

}  // namespace tilecast::sim::views
