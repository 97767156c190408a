#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "validation/label_experiment.h"

namespace tilecast::validation {
namespace {

using sim::views::json_number;
using sim::views::percent;
using LabelJson = nlohmann::ordered_json;

std::string percent_cell(const std::optional<double>& share) {
  return share ? percent(*share) : "";
}

std::string_view metric_name(LabelMetric metric) {
  return kLabelMetrics[static_cast<std::size_t>(metric)];
}

std::string target_text(const LabelResult& result, const learned::Target& target) {
  sim::views::TextTable table({"learner", "physics", ">RMSE % of range", ">exact %", ">Spearman",
                               ">unknown %", ">train s"});
  const LabelScore* first = nullptr;
  for (const LabelScore& score : result.scores) {
    if (score.target != target.quantity) continue;
    if (first == nullptr) first = &score;
    table.add({score.learner, score.physics ? "yes" : "no", percent(score.rmse),
               percent_cell(score.exact),
               score.spearman ? fmt::format("{:.3f}", *score.spearman) : "",
               percent_cell(score.unknown_tokens), fmt::format("{:.1f}", score.train_s)});
  }
  const std::string unit = target.is_time() ? "log of seconds" : target.unit;
  return fmt::format("\n{} ({}): {} rows train, {} test\n{}", target.quantity, unit,
                     first == nullptr ? 0 : first->train_rows,
                     first == nullptr ? 0 : first->test_rows, table.render());
}

}  // namespace

std::string label_experiment_text(const LabelResult& result) {
  const LabelExperiment& experiment = result.experiment;
  std::string text = fmt::format(
      "{}: {}\nset     {} ({})\nsplit   by {}, {} % test, {} {}\n", experiment.name,
      experiment.claim, result.set_name, result.set_hash,
      learned::kValidateBy[static_cast<std::size_t>(experiment.by)], percent(experiment.test),
      experiment.seeds, experiment.seeds == 1 ? "seed" : "seeds, means");
  for (const learned::Target& target : result.targets) text += target_text(result, target);
  for (const LabelBarResult& bar : result.bars) {
    const bool least = bar.bar.metric == LabelMetric::kRmse;
    const std::string_view with = !bar.bar.physics   ? ""
                                  : *bar.bar.physics ? " with physics"
                                                     : " without physics";
    text += fmt::format("bar     {} {} of {}{}: {} {}, found {}: {}\n", bar.bar.target,
                        metric_name(bar.bar.metric), bar.bar.learner, with,
                        least ? "at most" : "at least", percent(bar.bar.limit),
                        bar.value ? percent(*bar.value) : "nothing", bar.met ? "met" : "NOT MET");
  }
  return text;
}

std::string label_experiment_json(const LabelResult& result) {
  LabelJson root = {{"schema", "tilecast.labels/1"},
                    {"name", result.experiment.name},
                    {"claim", result.experiment.claim},
                    {"set", {{"name", result.set_name}, {"hash", result.set_hash}}},
                    {"seeds", result.experiment.seeds},
                    {"targets", LabelJson::array()},
                    {"scores", LabelJson::array()},
                    {"bars", LabelJson::array()}};
  for (const learned::Target& target : result.targets) {
    root["targets"].push_back({{"name", target.quantity}, {"unit", target.unit}});
  }
  for (const LabelScore& score : result.scores) {
    root["scores"].push_back({{"target", score.target},
                              {"learner", score.learner},
                              {"physics", score.physics},
                              {"train_rows", score.train_rows},
                              {"test_rows", score.test_rows},
                              {"rmse", score.rmse},
                              {"exact", json_number(score.exact)},
                              {"spearman", json_number(score.spearman)},
                              {"unknown_tokens", json_number(score.unknown_tokens)},
                              {"train_s", score.train_s}});
  }
  for (const LabelBarResult& bar : result.bars) {
    root["bars"].push_back(
        {{"target", bar.bar.target},
         {"learner", bar.bar.learner},
         {"physics", bar.bar.physics ? LabelJson(*bar.bar.physics) : LabelJson(nullptr)},
         {"metric", metric_name(bar.bar.metric)},
         {"limit", bar.bar.limit},
         {"value", json_number(bar.value)},
         {"met", bar.met}});
  }
  return sim::views::json_text(root, 2);
}

}  // namespace tilecast::validation
