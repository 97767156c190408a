// The machine-readable forms of an evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/views/evaluation.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;
using measured::Metric;

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

// Every stratum x model x metric, in this order.
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
  return {{"name", set.name},
          {"hash", set.hash},
          {"measured_on", set.device},
          {"source", set.manifest.source},
          {"licence", set.manifest.licence},
          {"how_timed", set.manifest.how_timed},
          {"timing", measured::name(set.manifest.timing)},
          {"rows", set.rows},
          {"rows_with_dispatch", set.with_dispatch},
          {"left_out", std::move(left_out)}};
}

Json model_json(const EvaluationReport& report, const ModelColumn& column) {
  const hwdesc::Device& device = report.devices[column.device];
  return {{"name", column.name},
          {"model", column.model},
          {"device", device.name},
          {"calibrated_on", device.calibration.source}};
}

Json reference_json(const measured::ReferenceRow& row) {
  return {{"source", row.source},
          {"where", row.where},
          {"metric", row.metric},
          {"unit", row.unit},
          {"hardware", row.hardware},
          {"data", row.data},
          {"split", row.split},
          {"subject", row.subject},
          {"column", row.column},
          {"value", row.value},
          {"note", row.note},
          {"read_off_plot", row.read_off_plot},
          {"second_hand", row.second_hand}};
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
  document["models"] = Json::array();
  for (const ModelColumn& column : report.columns) {
    document["models"].push_back(model_json(report, column));
  }
  document["sets"] = Json::array();
  for (const measured::ScoredSet& set : report.sheet.sets)
    document["sets"].push_back(set_json(set));
  document["scores"] = scores_json(report);
  document["notes"] = report.notes;
  document["references"] = Json::array();
  for (const measured::ReferenceRow& row : report.references) {
    document["references"].push_back(reference_json(row));
  }
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

}  // namespace tilecast::sim::views
