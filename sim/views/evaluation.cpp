// The machine-readable forms of an evaluation.
#include "sim/views/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;
using measured::Metric;
using measured::ReferenceRow;
using measured::Score;
using measured::Scores;
using measured::Stratum;

// The error and ranking metrics in text, in this order; CSV and JSON have all.
constexpr std::array kErrorMetrics{Metric::kMape, Metric::kMedianApe, Metric::kP90Ape,
                                   Metric::kBias, Metric::kRowTau};
constexpr std::array kRankingMetrics{
    Metric::kTileTau,      Metric::kTileSizeApe,   Metric::kTop1Slowdown, Metric::kTop1SlowdownP90,
    Metric::kTop5Slowdown, Metric::kTop10Slowdown, Metric::kBestInTop10};

// The error metrics, plus the interval metrics if some model gives intervals.
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

// Whether a stratum contains all rows (e.g. that of the only class): tables name it but do not
// repeat its numbers.
bool repeats_all(const measured::Evaluation& evaluation, const Stratum& stratum) {
  return stratum.breakdown != measured::Breakdown::kAll &&
         stratum.rows_measured == evaluation.strata.front().rows_measured;
}

// "class matmul"; or "all", with the strata that repeat it in brackets.
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

constexpr const char* kHeading =
    "Others' published numbers, on others' data, kernels and machines: not to be read against the "
    "rows above";

bool sums_up(const ReferenceRow& row) {
  return row.subject == "Mean" || row.subject == "Median" || row.subject == "Average";
}

bool same_table(const ReferenceRow& a, const ReferenceRow& b) {
  return a.source == b.source && a.where == b.where && a.metric == b.metric &&
         a.hardware == b.hardware && a.data == b.data && a.split == b.split;
}

// Splits the rows into tables, which are contiguous in the file, reduced to the rows shown.
std::vector<std::vector<ReferenceRow>> tables(std::span<const ReferenceRow> rows) {
  std::vector<std::vector<ReferenceRow>> tables;
  for (const ReferenceRow& row : rows) {
    if (tables.empty() || !same_table(tables.back().front(), row)) tables.emplace_back();
    tables.back().push_back(row);
  }
  for (auto& table : tables) {
    if (std::ranges::any_of(table, sums_up)) {
      std::erase_if(table, [](const ReferenceRow& row) { return !sums_up(row); });
    }
  }
  return tables;
}

std::string values(const std::vector<ReferenceRow>& table) {
  std::string out, subject;
  for (const ReferenceRow& row : table) {
    if (row.subject != subject) {
      out += fmt::format("{}{}:", out.empty() ? "" : "; ", row.subject);
      subject = row.subject;
    } else {
      out += ",";
    }
    out += fmt::format(" {} {}", row.column, row.value);
  }
  return out;
}

std::string caveats(const ReferenceRow& row) {
  std::string out = row.note;
  const auto add = [&out](std::string_view text) {
    out += fmt::format("{}{}", out.empty() ? "" : "; ", text);
  };
  if (row.read_off_plot) add("read off a plot");
  if (row.second_hand) add("second hand");
  return out;
}

std::string setting(const ReferenceRow& row) {
  return fmt::format("{}, {}, split: {}", row.hardware, row.data, row.split);
}

std::string reference_text(std::span<const ReferenceRow> rows) {
  std::string out = fmt::format("{}\n", kHeading), source;
  for (const auto& table : tables(rows)) {
    const ReferenceRow& first = table.front();
    if (first.source != source) out += fmt::format("{}\n", first.source);
    source = first.source;
    out += fmt::format("  {}: {}{} ({})\n    {}\n", first.where, first.metric,
                       first.unit == "%" ? " %" : "", setting(first), values(table));
    if (const std::string text = caveats(first); !text.empty()) {
      out += fmt::format("    note: {}\n", text);
    }
  }
  return out;
}

Json score_json(const measured::Stratum& stratum, const std::string& model,
                const measured::Scores& scores, Metric metric) {
  const measured::Score& score = scores[metric];
  const auto low = score.interval ? std::optional(score.interval->low) : std::nullopt;
  const auto high = score.interval ? std::optional(score.interval->high) : std::nullopt;
  return {{"by", measured::name(stratum.breakdown)},
          {"stratum", stratum.name},
          {"model", model},
          {"metric", measured::name(metric)},
          {"value", json_number(score.value)},
          {"low", json_number(low)},
          {"high", json_number(high)},
          {"rows", stratum.rows},
          {"rows_measured", stratum.rows_measured},
          {"works", stratum.works},
          {"answered", scores.answered},
          {"kernels_with_tiles", stratum.kernels_with_tiles},
          {"kernels_ranked", scores.kernels_ranked}};
}

// All combinations of stratum, model and metric, in this order.
Json scores_json(const EvaluationReport& report) {
  Json scores = Json::array();
  for (const measured::Stratum& stratum : report.evaluation.strata) {
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      for (std::size_t m = 0; m < measured::kMetricCount; ++m) {
        scores.push_back(score_json(stratum, report.columns[i].name, stratum.columns[i],
                                    static_cast<Metric>(m)));
      }
    }
  }
  return scores;
}

Json fault_json(const measured::ScoredSet& set, const measured::RowFault& fault) {
  return {{"set", set.name},
          {"line", fault.line},
          {"kind", measured::name(fault.kind)},
          {"message", fault.message}};
}

Json set_json(const measured::ScoredSet& set) {
  std::map<std::string, std::size_t> counts;
  for (const measured::RowFault& fault : set.faults)
    ++counts[std::string(measured::name(fault.kind))];
  Json left_out = Json::object();
  for (const auto& [kind, count] : counts) left_out[kind] = count;
  Json json = {{"name", set.name}, {"hash", set.hash}, {"measured_on", set.device}};
  TC_ADD_MEMBERS(json, set.manifest, source, licence, how_timed);
  json.update({{"timing", measured::name(set.manifest.timing)},
               {"rows", set.rows},
               {"rows_with_dispatch", set.with_dispatch},
               {"left_out", std::move(left_out)}});
  return json;
}

Json model_json(const EvaluationReport& report, const ModelColumn& column) {
  const hwdesc::Device& device = report.devices[column.device];
  return {{"name", column.name},
          {"model", column.model},
          {"device", device.name},
          {"calibrated_on", device.calibration.source}};
}

Json reference_json(const measured::ReferenceRow& row) {
  Json json;
  TC_ADD_MEMBERS(json, row, source, where, metric, unit, hardware, data, split, subject, column,
                 value, note, read_off_plot, second_hand);
  return json;
}

std::vector<std::size_t> columns_with_intervals(const EvaluationReport& report) {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < report.columns.size(); ++column) {
    const bool any = std::ranges::any_of(report.sheet.rows, [&](const measured::ScoredRow& row) {
      return !row.interval_s.empty() && row.interval_s[column];
    });
    if (any) columns.push_back(column);
  }
  return columns;
}

constexpr Metric kKernelMetrics[] = {Metric::kMape, Metric::kP90Ape, Metric::kBias,
                                     Metric::kTileTau, Metric::kTop1Slowdown};
constexpr std::size_t kTauOfKernels = 6;  // cells before the tau of tiles

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

using Cells = std::vector<std::string>;

// The titles of a table that ends with metrics.
Cells with_metrics(Cells titles, std::span<const Metric> metrics) {
  for (const Metric metric : metrics) titles.push_back(">" + metric_title(metric));
  return titles;
}

// The cells of a row that ends with metrics.
Cells with_scores(Cells cells, std::span<const Metric> metrics, const Scores& scores) {
  const std::size_t first = cells.size();
  for (const Metric metric : metrics) cells.push_back(metric_cell(metric, scores[metric]));
  const bool ranks = measured::ranks_tiles(metrics.front());
  if (ranks && scores.kernels_ranked == 0) cells[first] = "cannot rank";
  return cells;
}

TextTable score_table(const Cells& titles) {
  return TextTable(std::vector<Column>(titles.begin(), titles.end()));
}

// A row per model: `lead` of its scores, which precedes their metrics.
std::string block(const EvaluationReport& report, const Stratum& stratum, const Cells& titles,
                  std::span<const Metric> metrics,
                  const std::function<std::string(Scores&)>& lead) {
  TextTable table = score_table(with_metrics(titles, metrics));
  for (std::size_t i = 0; i < report.columns.size(); ++i) {
    Scores scores = stratum.columns[i];
    const std::string answered = lead(scores);
    table.add(with_scores({report.columns[i].name, answered}, metrics, scores));
  }
  return table.render();
}

std::string error_block(const EvaluationReport& report, const Stratum& stratum) {
  return block(report, stratum, {"model", ">answered"}, error_metrics(report.evaluation),
               [](const Scores& scores) { return std::to_string(scores.answered); });
}

// Intervals of the first three only; the others are in CSV and JSON.
std::string ranking_block(const EvaluationReport& report, const Stratum& stratum) {
  if (stratum.kernels_with_tiles == 0) return "";
  return block(report, stratum, {"tiles within kernels", ">ranked"}, kRankingMetrics,
               [&](Scores& scores) {
                 for (const Metric metric : kRankingMetrics) {
                   if (metric <= Metric::kTop1Slowdown) continue;
                   scores.values[static_cast<std::size_t>(metric)].interval.reset();
                 }
                 return fmt::format("{} of {}", scores.kernels_ranked, stratum.kernels_with_tiles);
               });
}

// Kernels are many and small: one line per kernel and model instead of one block per kernel.
std::string kernel_table(const EvaluationReport& report) {
  TextTable table = score_table(with_metrics({"kernel", ">n", "model"}, kKernelMetrics));
  bool any = false;
  for (const Stratum& stratum : report.evaluation.strata) {
    if (stratum.breakdown != measured::Breakdown::kKernel) continue;
    any = true;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      const Scores& scores = stratum.columns[i];
      Cells cells = with_scores(
          {i == 0 ? stratum.name : "", std::to_string(stratum.rows), report.columns[i].name},
          kKernelMetrics, scores);
      const bool cannot_rank = stratum.kernels_with_tiles > 0 && scores.kernels_ranked == 0;
      if (cannot_rank) cells[kTauOfKernels] = "cannot rank";
      table.add(std::move(cells));
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

std::string evaluation_csv(const EvaluationReport& report) {
  return rows_csv(scores_json(report));
}

std::string evaluation_rows_csv(const EvaluationReport& report) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const auto nanoseconds = [](double time_s) {
    return fmt::format("{:.12g}", time_s * kNanosecondsPerSecond);
  };
  std::vector<std::string> titles{"set", "line", "work", "class", "split", "tile", "measured_ns"};
  for (const ModelColumn& column : report.columns) titles.push_back(column.name + " ns");
  const std::vector<std::size_t> with_intervals = columns_with_intervals(report);
  for (const std::size_t column : with_intervals) {
    titles.push_back(report.columns[column].name + " low ns");
    titles.push_back(report.columns[column].name + " high ns");
  }
  std::string out = measured::csv_line(titles);
  for (const measured::ScoredRow& row : report.sheet.rows) {
    const measured::ScoredWorkload& work = report.sheet.works[row.work];
    std::vector<std::string> cells{report.sheet.sets[row.set].name,
                                   std::to_string(row.line),
                                   work.name,
                                   work.op_class,
                                   row.split,
                                   row.tile,
                                   nanoseconds(row.measured_s)};
    for (const auto& predicted_s : row.predicted_s) {
      cells.push_back(predicted_s ? nanoseconds(*predicted_s) : "");
    }
    for (const std::size_t column : with_intervals) {
      const bool has = !row.interval_s.empty() && row.interval_s[column];
      cells.push_back(has ? nanoseconds(row.interval_s[column]->low) : "");
      cells.push_back(has ? nanoseconds(row.interval_s[column]->high) : "");
    }
    out += measured::csv_line(cells);
  }
  return out;
}

std::string evaluation_json(const EvaluationReport& report, const EvaluationViewOptions& options) {
  Json document = {{"schema", "tilecast.evaluate/1"}};
  document["models"] =
      list_of(report.columns, [&](const auto& one) { return model_json(report, one); });
  document["sets"] = list_of(report.sheet.sets, set_json);
  document["scores"] = scores_json(report);
  document["notes"] = report.notes;
  document["references"] = list_of(report.references, reference_json);
  if (options.faults) {
    document["faults"] = Json::array();
    for (const measured::ScoredSet& set : report.sheet.sets) {
      for (const measured::RowFault& fault : set.faults) {
        document["faults"].push_back(fault_json(set, fault));
      }
    }
  }
  return json_text(document);
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

std::string metric_title(Metric metric) {
  static constexpr std::array<const char*, measured::kNamedMetricCount> kTitles = {
      "MAPE %",
      "median APE %",
      "p90 APE %",
      "bias x",
      "total x",
      "L1 of log time",
      "tau of rows",
      "in 90 % interval %",
      "interval width %",
      "MAPE of surest 25 % %",
      "MAPE of surest 50 % %",
      "MAPE of surest 75 % %",
      "errors above 2 x announced %",
      "tau-b",
      "Tile-Size APE %",
      "top-1 slowdown %",
      "p90 %",
      "top-5 %",
      "top-10 %",
      "best in top 1 %",
      "best in top 5 %",
      "best in top 10 %",
      "best in top tenth %",
      "chosen within 2 % %",
      "rho of rows",
      "RMSE % of range",
      "exact %"};
  return kTitles[static_cast<std::size_t>(metric)];
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

std::string metric_value(Metric metric, double value) {
  constexpr double kMany = 10;
  if (!is_share(metric)) {
    return std::abs(value) < kMany ? fmt::format("{:.2f}", value) : compact(value);
  }
  return value < kMany ? percent(value) : fmt::format("{:.0f}", 100 * value);
}

bool is_share(Metric metric) {
  return !measured::is_ratio(metric) && metric != Metric::kLogL1 && metric != Metric::kRowTau &&
         metric != Metric::kTileTau && metric != Metric::kRowSpearman;
}

}  // namespace tilecast::sim::views
