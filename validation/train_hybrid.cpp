#include "validation/train_hybrid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "validation/experiment_hybrids.h"
#include "validation/experiment_train.h"

namespace tilecast::validation {
namespace {

using measured::Metric;

// The experiment with one hybrid, beside what needs no fit, and always with the metrics of
// intervals.
Experiment with_hybrid_alone(const Experiment& all, const std::string& hybrid) {
  std::vector<std::string_view> names;
  for (const hybrid::HybridSpec& spec : all.hybrids) names.push_back(spec.name);
  const auto spec = std::ranges::find(all.hybrids, hybrid, &hybrid::HybridSpec::name);
  if (spec == all.hybrids.end()) {
    throw Error(fmt::format("{}: no hybrid is called '{}'; there are: {}", all.file, hybrid,
                            fmt::join(names, ", ")));
  }
  Experiment one = with_column_alone(all, spec->name);
  one.hybrids = {*spec};
  one.learners.clear();
  for (const Metric metric : {Metric::kCoverage, Metric::kIntervalWidth}) {
    if (std::ranges::find(one.metrics, metric) == one.metrics.end()) one.metrics.push_back(metric);
  }
  return one;
}

std::map<std::string, std::string> settings_of(const hybrid::HybridSpec& spec,
                                               const hybrid::FittedHybrid& fitted) {
  std::map<std::string, std::string> settings = fitted.card.settings;
  settings["hybrid_trial_by"] = learned::kValidateBy[static_cast<std::size_t>(fitted.trial_by)];
  settings["hybrid_guard"] = spec.belief == hybrid::Belief::kEverything ? "no" : "yes";
  if (!fitted.notes.empty()) {
    settings["hybrid_notes"] = fmt::format("{}", fmt::join(fitted.notes, "; "));
  }
  return settings;
}

}  // namespace

HybridTraining::HybridTraining(const analytical::CostModel& prior, const Experiment& experiment,
                               ExperimentData& data, const std::string& hybrid, int jobs)
    : prior_(prior),
      experiment_(with_hybrid_alone(experiment, hybrid)),
      loaded_(load_sets(experiment_, data, jobs)),
      rounds_(experiment_splits(experiment_, loaded_.sets, loaded_.names)),
      jobs_(jobs) {}

std::vector<learned::ModelData> HybridTraining::rows() const {
  std::vector<learned::ModelData> rows = model_data(loaded_);
  const std::vector<ExperimentRow> all = rows_of(loaded_.sets);
  for (const std::size_t row : split().fit) ++rows[all[row].set].train;
  for (const std::size_t row : split().score) ++rows[all[row].set].test;
  return rows;
}

// The held-out rows, with the predictions of the hybrid.
measured::ScoreSheet HybridTraining::answers(const hybrid::HybridModel& model) const {
  measured::ScoreSheet sheet = base_sheet(experiment_, loaded_, jobs_);
  const std::size_t columns = sheet.columns.size();
  const std::vector<ExperimentRow> all = rows_of(loaded_.sets);
  std::vector<std::vector<measured::Prediction>> predicted;
  for (std::size_t i = 0; i < loaded_.sets.size(); ++i) {
    predicted.push_back(measured::predict(loaded_.sets[i], model, loaded_.devices[i], jobs_));
  }
  std::vector<measured::ScoredRow> rows;
  for (const std::size_t at : split().score) {
    const measured::Prediction& prediction = predicted[all[at].set][all[at].sample];
    measured::ScoredRow row = sheet.rows[at];
    row.interval_s.assign(columns, std::nullopt);
    row.predicted_s.back().reset();
    if (prediction.answered && prediction.comparable().value > 0) {
      row.predicted_s.back() = prediction.comparable().value;
      row.interval_s.back() = prediction.interval;
    }
    rows.push_back(std::move(row));
  }
  sheet.rows = std::move(rows);
  return sheet;
}

HybridTrainingResult HybridTraining::run(
    const std::function<void(const std::string&, double)>& step) const {
  const auto start = std::chrono::steady_clock::now();
  hybrid::FittedHybrid fitted =
      fit_rows(prior_, spec(), loaded_, split().fit, {.jobs = jobs_, .step = step});
  HybridTrainingResult result{
      .card = fitted.card, .report = fitted.report, .scores = {}, .notes = loaded_.notes};
  result.notes.insert(result.notes.end(), fitted.notes.begin(), fitted.notes.end());
  result.card.settings = settings_of(spec(), fitted);
  result.card.data = rows();
  result.model =
      std::make_unique<hybrid::HybridModel>(prior_, std::move(fitted.parts), spec().belief);
  result.card.training_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (fitted.rows < split().fit.size()) {
    result.notes.push_back(
        fmt::format("{} of {} rows were not learned from: of programs, or "
                    "without an analytical answer",
                    split().fit.size() - fitted.rows, split().fit.size()));
  }
  result.scores =
      score_held_out(experiment_, answers(*result.model), jobs_, result.card, result.notes);
  return result;
}

}  // namespace tilecast::validation
