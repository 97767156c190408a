#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/views/evaluation.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using measured::Score;
using measured::Scores;
using measured::Stratum;

constexpr Metric kKernelMetrics[] = {Metric::kMape, Metric::kP90Ape, Metric::kBias,
                                     Metric::kTileTau, Metric::kTop1Slowdown};

std::string sets(const EvaluationReport& report) {
  std::string out;
  for (const measured::ScoredSet& set : report.sheet.sets) {
    out += fmt::format("set     {}: {} rows, {} left out, {} times, measured on {}, hash {}\n",
                       set.name, set.rows, set.faults.size(), measured::name(set.manifest.timing),
                       set.device, set.hash.substr(0, kShortHash));
  }
  for (const ModelColumn& column : report.columns) {
    const hwdesc::Device& device = report.devices[column.device];
    out += fmt::format("model   {}: {} on {}{}\n", column.name, column.model, device.name,
                       device.calibration.source.empty()
                           ? ""
                           : fmt::format(", calibrated on {}", device.calibration.source));
  }
  return out;
}

std::string heading(const EvaluationReport& report, const Stratum& stratum) {
  std::string out =
      fmt::format("\n{}: n = {}", stratum_title(report.evaluation, stratum), stratum.rows);
  if (stratum.rows < stratum.rows_measured) out += fmt::format(" of {}", stratum.rows_measured);
  out += fmt::format(" rows, {} {}", stratum.works, stratum.works == 1 ? "work" : "works");
  return out + "\n";
}

std::string error_block(const EvaluationReport& report, const Stratum& stratum) {
  const std::vector<Metric> metrics = error_metrics(report.evaluation);
  std::vector<Column> columns{{"model"}, {"answered", Align::kRight}};
  for (const Metric metric : metrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    const Scores& scores = stratum.columns[i];
    std::vector<std::string> cells{report.columns[i].name, std::to_string(scores.answered)};
    for (const Metric metric : metrics) cells.push_back(metric_cell(metric, scores[metric]));
    table.add(cells);
  }
  return table.render();
}

// Intervals of the first three only; the others are in CSV and JSON.
std::string ranking_block(const EvaluationReport& report, const Stratum& stratum) {
  if (stratum.kernels_with_tiles == 0) return "";
  std::vector<Column> columns{{"tiles within kernels"}, {"ranked", Align::kRight}};
  for (const Metric metric : kRankingMetrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    const Scores& scores = stratum.columns[i];
    std::vector<std::string> cells{
        report.columns[i].name,
        fmt::format("{} of {}", scores.kernels_ranked, stratum.kernels_with_tiles)};
    for (const Metric metric : kRankingMetrics) {
      const bool show_interval = metric <= Metric::kTop1Slowdown;
      const Score& score = scores[metric];
      cells.push_back(show_interval ? metric_cell(metric, score)
                                    : metric_cell(metric, {.value = score.value, .interval = {}}));
    }
    if (scores.kernels_ranked == 0) cells[2] = "cannot rank";
    table.add(cells);
  }
  return table.render();
}

// Kernels are many and small: one line per kernel and model instead of a block each.
std::string kernel_table(const EvaluationReport& report) {
  std::vector<Column> columns{{"kernel"}, {"n", Align::kRight}, {"model"}};
  for (const Metric metric : kKernelMetrics) {
    columns.push_back({metric_title(metric), Align::kRight});
  }
  TextTable table(columns);
  bool any = false;
  for (const Stratum& stratum : report.evaluation.strata) {
    if (stratum.breakdown != measured::Breakdown::kKernel) continue;
    any = true;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      const Scores& scores = stratum.columns[i];
      std::vector<std::string> cells{i == 0 ? stratum.name : "", std::to_string(stratum.rows),
                                     report.columns[i].name};
      for (const Metric metric : kKernelMetrics) {
        const bool cannot_rank = metric == Metric::kTileTau && stratum.kernels_with_tiles > 0 &&
                                 scores.kernels_ranked == 0;
        cells.push_back(cannot_rank ? "cannot rank" : metric_cell(metric, scores[metric]));
      }
      table.add(cells);
    }
  }
  return any ? "\n" + table.render() : "";
}

std::string faults(const EvaluationReport& report) {
  std::string out;
  for (const measured::ScoredSet& set : report.sheet.sets) {
    for (const measured::RowFault& fault : set.faults) {
      out += fmt::format("fault: {}: line {}: {}: {}\n", set.name, fault.line,
                         measured::name(fault.kind), fault.message);
    }
  }
  return out;
}

}  // namespace

std::vector<Metric> error_metrics(const measured::Evaluation& evaluation) {
  std::vector<Metric> metrics(kErrorMetrics.begin(), kErrorMetrics.end());
  const auto gives_intervals = [](const Scores& scores) {
    return scores[Metric::kCoverage].value.has_value();
  };
  if (std::ranges::any_of(evaluation.strata.front().columns, gives_intervals)) {
    metrics.insert(metrics.end(), {Metric::kCoverage, Metric::kIntervalWidth});
  }
  return metrics;
}

bool is_share(Metric metric) {
  return !measured::is_ratio(metric) && metric != Metric::kLogL1 && metric != Metric::kRowTau &&
         metric != Metric::kTileTau;
}

std::string metric_title(Metric metric) {
  switch (metric) {
    case Metric::kMape:
      return "MAPE %";
    case Metric::kMedianApe:
      return "median APE %";
    case Metric::kP90Ape:
      return "p90 APE %";
    case Metric::kBias:
      return "bias x";
    case Metric::kTotal:
      return "total x";
    case Metric::kLogL1:
      return "L1 of log time";
    case Metric::kRowTau:
      return "tau of rows";
    case Metric::kCoverage:
      return "in 90 % interval %";
    case Metric::kIntervalWidth:
      return "interval width %";
    case Metric::kMapeSurest25:
      return "MAPE of surest 25 % %";
    case Metric::kMapeSurest50:
      return "MAPE of surest 50 % %";
    case Metric::kMapeSurest75:
      return "MAPE of surest 75 % %";
    case Metric::kAnnounced:
      return "errors above 2 x announced %";
    case Metric::kTileTau:
      return "tau-b";
    case Metric::kTileSizeApe:
      return "Tile-Size APE %";
    case Metric::kTop1Slowdown:
      return "top-1 slowdown %";
    case Metric::kTop1SlowdownP90:
      return "p90 %";
    case Metric::kTop5Slowdown:
      return "top-5 %";
    case Metric::kTop10Slowdown:
      return "top-10 %";
    case Metric::kBestInTop1:
      return "best in top 1 %";
    case Metric::kBestInTop5:
      return "best in top 5 %";
    case Metric::kBestInTop10:
      return "best in top 10 %";
    case Metric::kBestInTopTenth:
      return "best in top tenth %";
    case Metric::kTop1Within2:
      return "chosen within 2 % %";
  }
  return "";
}

std::string metric_value(Metric metric, double value) {
  constexpr double kMany = 10;
  if (!is_share(metric)) {
    return std::abs(value) < kMany ? fmt::format("{:.2f}", value) : compact(value);
  }
  return value < kMany ? percent(value) : fmt::format("{:.0f}", 100 * value);
}

std::string metric_cell(Metric metric, const Score& score) {
  if (!score.value) return "-";
  std::string cell = metric_value(metric, *score.value);
  if (score.interval) {
    cell += fmt::format(" [{}, {}]", metric_value(metric, score.interval->low),
                        metric_value(metric, score.interval->high));
  }
  return cell;
}

bool repeats_all(const measured::Evaluation& evaluation, const Stratum& stratum) {
  return stratum.breakdown != measured::Breakdown::kAll &&
         stratum.rows_measured == evaluation.strata.front().rows_measured;
}

std::string stratum_title(const measured::Evaluation& evaluation, const Stratum& stratum) {
  const auto plain = [](const Stratum& s) {
    return fmt::format("{} {}", measured::name(s.breakdown), s.name);
  };
  if (stratum.breakdown != measured::Breakdown::kAll) return plain(stratum);
  std::string same;
  for (const Stratum& other : evaluation.strata) {
    if (repeats_all(evaluation, other)) same += (same.empty() ? "" : ", ") + plain(other);
  }
  return same.empty() ? "all" : fmt::format("all ({})", same);
}

std::string evaluation_text(const EvaluationReport& report, const EvaluationViewOptions& options) {
  std::string out = sets(report);
  for (const Stratum& stratum : report.evaluation.strata) {
    if (repeats_all(report.evaluation, stratum)) continue;
    if (stratum.breakdown == measured::Breakdown::kKernel) continue;
    out += heading(report, stratum) + error_block(report, stratum) + ranking_block(report, stratum);
  }
  out += kernel_table(report);
  out += "\n[ , ]: 95 % bootstrap interval over works, or over rows when there is one work\n";
  for (const std::string& note : report.notes) out += fmt::format("note: {}\n", note);
  if (options.faults) out += faults(report);
  if (!report.references.empty()) out += "\n" + reference_text(report.references);
  return out;
}

}  // namespace tilecast::sim::views
