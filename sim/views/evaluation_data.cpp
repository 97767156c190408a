// The machine-readable forms of an evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "measured/csv.h"
#include "sim/views/evaluation.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;
using measured::Metric;

struct LongRow {
  const measured::Stratum& stratum;
  const ModelColumn& column;
  const measured::Scores& scores;
  Metric metric;
};

// Every stratum x model x metric, in this order.
template <class Function>
void each_score(const EvaluationReport& report, const Function& function) {
  for (const measured::Stratum& stratum : report.evaluation.strata) {
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      for (std::size_t m = 0; m < measured::kMetricCount; ++m) {
        function(LongRow{stratum, report.columns[i], stratum.columns[i], static_cast<Metric>(m)});
      }
    }
  }
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

Json number_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json score_json(const LongRow& row) {
  const measured::Score& score = row.scores[row.metric];
  const auto low = score.interval ? std::optional(score.interval->low) : std::nullopt;
  const auto high = score.interval ? std::optional(score.interval->high) : std::nullopt;
  return {{"by", measured::name(row.stratum.breakdown)},
          {"stratum", row.stratum.name},
          {"model", row.column.name},
          {"metric", measured::name(row.metric)},
          {"value", number_json(score.value)},
          {"low", number_json(low)},
          {"high", number_json(high)},
          {"rows", row.stratum.rows},
          {"rows_measured", row.stratum.rows_measured},
          {"works", row.stratum.works},
          {"answered", row.scores.answered},
          {"kernels_with_tiles", row.stratum.kernels_with_tiles},
          {"kernels_ranked", row.scores.kernels_ranked}};
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
          {"timing", set.manifest.timing == measured::Timing::kDevice ? "device" : "host"},
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
  std::string out = measured::csv_line({"by", "stratum", "model", "metric", "value", "low", "high",
                                        "rows", "rows_measured", "works", "answered",
                                        "kernels_with_tiles", "kernels_ranked"});
  each_score(report, [&](const LongRow& row) {
    const measured::Score& score = row.scores[row.metric];
    out += measured::csv_line(
        {std::string(measured::name(row.stratum.breakdown)), row.stratum.name, row.column.name,
         std::string(measured::name(row.metric)), number(score.value),
         score.interval ? number(score.interval->low) : "",
         score.interval ? number(score.interval->high) : "", std::to_string(row.stratum.rows),
         std::to_string(row.stratum.rows_measured), std::to_string(row.stratum.works),
         std::to_string(row.scores.answered), std::to_string(row.stratum.kernels_with_tiles),
         std::to_string(row.scores.kernels_ranked)});
  });
  return out;
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
    const measured::ScoredWork& work = report.sheet.works[row.work];
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
  document["scores"] = Json::array();
  each_score(report, [&](const LongRow& row) { document["scores"].push_back(score_json(row)); });
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
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilecast::sim::views
