#include "sim/cli/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "base/error.h"
#include "learned/training/graph_training.h"
#include "sim/cli/progress.h"
#include "sim/cli/tell.h"

namespace tilecast::sim::cli {
namespace {

namespace fs = std::filesystem;
using learned::GraphModel;
using measured::Metric;

// The benchmark's own metrics, of all graphs and of each; a model that only ranks has no MAPE.
void add_scores(const measured::ScoreSheet& sheet, const measured::EvaluationOptions& options,
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

measured::CsvTable score_table() {
  return {"graphs",
          {"set", "graph", "model", "graphs", "runs", "kendall_tau_b", "1_less_top_1_slowdown",
           "1_less_top_5_slowdown", "1_less_top_10_slowdown", "mape"},
          {}};
}

constexpr const char* kScoreSchema = "tilecast.graphs/1";

}  // namespace

void train_graphs(const GraphTrainingArguments& arguments, const OutputOptions& output) {
  const learned::GraphTraining training = learned::read_graph_training(arguments.file);
  if (arguments.dry_run) throw UsageError("--dry-run: not of graphs");
  if (arguments.directory.empty()) throw UsageError("--out is required: the folder of the model");
  if (fs::exists(arguments.directory) && !arguments.force) {
    throw Error(arguments.directory + ": exists; --force replaces a model");
  }
  const std::string checkpoint = arguments.directory + ".checkpoint";
  if (!arguments.resume) fs::remove(checkpoint);
  constexpr std::size_t kWhole = 100;  // %
  Progress progress("train " + training.learner.name + ":", kWhole);
  const auto show = [&](const learned::LearnerProgress& at) {
    progress.show(
        static_cast<std::size_t>(at.done * kWhole),
        fmt::format(" %, {}, loss {:.4g}, validation {:.4g}", at.what, at.loss, at.validation));
  };
  const learned::TrainedGraphs trained = learned::train_graphs(
      training, {.step = show, .threads = arguments.jobs, .checkpoint = checkpoint});
  learned::save_graph_model(trained.model, arguments.directory, arguments.force);
  fs::remove(checkpoint);
  tell(fmt::format("graphs: {}; trained on {} runs, stopped by {}, scored on {} held out",
                   trained.graphs, trained.train_runs, trained.validation_runs, trained.test_runs));
  measured::CsvTable table = score_table();
  if (trained.test_runs > 0) {
    const std::pair<std::string, const GraphModel*> column(training.learner.name, &trained.model);
    add_scores(learned::score_sheet(trained.test, std::span(&column, 1)),
               {.by = {measured::Breakdown::kKernel}}, table);
  }
  write_rows(output, table, kScoreSchema);
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
  measured::CsvTable table = score_table();
  for (const std::string& path : sets) {
    const learned::GraphSet set = learned::read_graph_set(path);
    for (const auto& [name, model] : columns) {
      for (const auto& [seen, hash] : model->trained_on) {
        if (hash != set.hash) continue;
        tell(fmt::format("note: {} was trained on runs of {}", name, seen));
      }
    }
    add_scores(learned::score_sheet(set, columns), options, table);
  }
  write_rows(output, table, kScoreSchema);
}

}  // namespace tilecast::sim::cli
