#include "validation/experiment_train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace tilecast::validation {
namespace {

using measured::Metric;

// The experiment with one learner, beside what needs no training.
Experiment alone(const Experiment& all, const std::string& learner) {
  std::vector<std::string_view> names;
  for (const learned::LearnerSpec& spec : all.learners) names.push_back(spec.name);
  if (names.empty()) {
    throw Error(fmt::format("{}: learners: there are none; nothing to train", all.file));
  }
  if (learner.empty() && names.size() > 1) {
    throw Error(fmt::format("{}: {} learners, expected one; choose it with --learner: {}", all.file,
                            names.size(), fmt::join(names, ", ")));
  }
  const learned::LearnerSpec* spec = all.learner(learner.empty() ? names.front() : learner);
  if (spec == nullptr) {
    throw Error(fmt::format("{}: no learner is called '{}'; there are: {}", all.file, learner,
                            fmt::join(names, ", ")));
  }
  Experiment one = all;
  one.learners = {*spec};
  one.hybrids.clear();
  one.columns = {"roofline", "analytical", spec->name};
  one.by.clear();
  one.bars.clear();
  one.published.clear();
  one.directions.clear();
  return one;
}

}  // namespace

Training::Training(const Experiment& experiment, ExperimentData& data, const std::string& learner,
                   int jobs)
    : experiment_(alone(experiment, learner)),
      loaded_(load_sets(experiment_, data, jobs)),
      rounds_(experiment_splits(experiment_, loaded_.sets, loaded_.names)),
      columns_(experiment_, loaded_, jobs),
      jobs_(jobs) {}

std::vector<learned::ModelData> Training::rows(const learned::Examples& examples,
                                               const learned::TrainValidation& sides) const {
  std::vector<learned::ModelData> rows;
  for (std::size_t i = 0; i < loaded_.sets.size(); ++i) {
    rows.push_back({.name = loaded_.described[i].name,
                    .hash = loaded_.sets[i].hash,
                    .device = loaded_.devices[i].name,
                    .licence = loaded_.sets[i].manifest.licence});
  }
  for (const std::size_t row : sides.train) ++rows[examples.rows[row].set].train;
  for (const std::size_t row : sides.validation) ++rows[examples.rows[row].set].validation;
  for (const learned::Example& row : columns_.examples(split().score).rows) ++rows[row.set].test;
  return rows;
}

std::vector<learned::ModelData> Training::rows() const {
  const learned::Examples examples = columns_.examples(split().fit);
  const learned::LearnerSpec& spec = learner();
  return rows(examples,
              learned::split_validation(examples, spec.validate_by, spec.validation, spec.seed));
}

void Training::evaluate(TrainingResult& result) const {
  measured::ScoreSheet sheet = base_sheet(experiment_, loaded_, jobs_);
  const std::vector<std::optional<double>> predicted_s =
      columns_.predict(*result.trained.predictor, split().score);
  std::vector<measured::ScoredRow> rows;
  for (std::size_t i = 0; i < split().score.size(); ++i) {
    rows.push_back(sheet.rows[split().score[i]]);
    rows.back().predicted_s.back() = predicted_s[i];
  }
  sheet.rows = std::move(rows);
  result.scores = measured::evaluate(sheet, {.by = {}, .jobs = jobs_}).strata.front();
  result.sheet = std::move(sheet);
  if (result.scores.rows < result.scores.rows_measured) {
    result.notes.push_back(
        fmt::format("{} of {} held-out rows were not answered and are not scored",
                    result.scores.rows_measured - result.scores.rows, result.scores.rows_measured));
  }
  for (const Metric metric : experiment_.metrics) {
    const measured::Score& score = result.scores.columns.back()[metric];
    if (!score.value) continue;
    const std::size_t analytical = column_index(experiment_, "analytical");
    result.about.metrics.push_back(
        {.metric = std::string(measured::name(metric)),
         .n = measured::ranks_tiles(metric) ? result.scores.kernels_with_tiles : result.scores.rows,
         .value = *score.value,
         .baseline = result.scores.columns[analytical][metric].value});
  }
}

TrainingResult Training::run(const learned::LearnerHooks& hooks) const {
  const learned::Examples examples = columns_.examples(split().fit);
  TrainingResult result{.trained = learned::train(learner(), examples, hooks)};
  result.about.data = rows(examples, result.trained.split);
  result.notes = columns_.notes();
  evaluate(result);
  return result;
}

}  // namespace tilecast::validation
