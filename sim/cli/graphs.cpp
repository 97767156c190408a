#include "sim/cli/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "base/error.h"
#include "learned/training/graph_model.h"
#include "sim/cli/tell.h"

namespace tilecast::sim::cli {

namespace fs = std::filesystem;
using learned::GraphModel;
using measured::Metric;

void add_graph_scores(const measured::ScoreSheet& sheet, const measured::EvaluationOptions& options,
                      measured::CsvTable& table) {
  const measured::Evaluation scores = measured::evaluate(sheet, options);
  for (const measured::Stratum& stratum : scores.strata) {
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
      const auto cell = [&](Metric metric, bool less_from_one) {
        const std::optional<double> value = stratum.columns[i][metric].value;
        return value ? fmt::format("{:.4f}", less_from_one ? 1 - *value : *value) : std::string();
      };
      table.rows.push_back({0,
                            {sheet.sets.front().name, stratum.name, sheet.columns[i],
                             fmt::format("{}", stratum.works), fmt::format("{}", stratum.rows),
                             cell(Metric::kTileTau, false), cell(Metric::kTop1Slowdown, true),
                             cell(Metric::kTop5Slowdown, true), cell(Metric::kTop10Slowdown, true),
                             cell(Metric::kMape, false)}});
    }
  }
}

measured::CsvTable graph_scores() {
  return {"graphs",
          {"set", "graph", "model", "graphs", "runs", "kendall_tau_b", "1_less_top_1_slowdown",
           "1_less_top_5_slowdown", "1_less_top_10_slowdown", "mape"},
          {}};
}

void evaluate_graphs(const std::vector<std::string>& sets, const std::vector<std::string>& models,
                     const OutputOptions& output, const measured::EvaluationOptions& options) {
  std::deque<GraphModel> loaded;
  std::vector<std::pair<std::string, const GraphModel*>> columns;
  for (const std::string& model : models) {
    if (!learned::is_graph_model(model)) {
      throw Error(model +
                  ": graphs hold no kernels; expected the folder of a model trained on them");
    }
    loaded.push_back(learned::load_graph_model(model));
    columns.emplace_back(fs::path(model).lexically_normal().filename().string(), &loaded.back());
  }
  if (columns.empty()) throw UsageError("--model is required for graphs: a model trained on them");
  measured::CsvTable table = graph_scores();
  for (const std::string& path : sets) {
    const learned::GraphSet set = learned::read_graph_set(path);
    for (const auto& [name, model] : columns) {
      for (const auto& [seen, hash] : model->trained_on) {
        if (hash != set.hash) continue;
        tell(fmt::format("note: {} was trained on runs of {}", name, seen));
      }
    }
    add_graph_scores(learned::score_sheet(set, columns), options, table);
  }
  write_rows(output, table, kGraphSchema);
}

}  // namespace tilecast::sim::cli
