#include "validation/experiment_train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"

namespace tilecast::validation {
namespace {

Experiment with_learner_alone(const Experiment& all, const std::string& learner) {
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
  Experiment one = with_column_alone(all, spec->name);
  one.learners = {*spec};
  one.hybrids.clear();
  return one;
}

}  // namespace

Experiment with_column_alone(Experiment experiment, const std::string& column) {
  experiment.columns = {"roofline", "analytical", column};
  experiment.bars.clear();
  experiment.published.clear();
  experiment.directions.clear();
  return experiment;
}

std::vector<learned::ModelData> model_data(const LoadedSets& loaded) {
  std::vector<learned::ModelData> data;
  for (std::size_t i = 0; i < loaded.sets.size(); ++i) {
    data.push_back({.name = loaded.described[i].name,
                    .hash = loaded.sets[i].hash,
                    .device = loaded.devices[i].name,
                    .licence = loaded.sets[i].manifest.licence});
  }
  return data;
}

measured::Stratum score_held_out(const Experiment& experiment, const measured::ScoreSheet& sheet,
                                 int jobs, learned::ModelCard& card,
                                 std::vector<std::string>& notes) {
  const measured::Evaluation evaluation =
      measured::evaluate(sheet, {.by = experiment.by, .jobs = jobs});
  measured::Stratum all = evaluation.strata.front();
  if (all.rows < all.rows_measured) {
    notes.push_back(fmt::format("{} of {} held-out rows were not answered and are not scored",
                                all.rows_measured - all.rows, all.rows_measured));
  }
  const std::size_t analytical = column_index(experiment, "analytical");
  for (const measured::Metric metric : experiment.metrics) {
    const measured::Score& score = all.columns.back()[metric];
    if (!score.value) continue;
    card.metrics.push_back({.metric = std::string(measured::name(metric)),
                            .n = measured::ranks_tiles(metric) ? all.kernels_with_tiles : all.rows,
                            .value = *score.value,
                            .baseline = all.columns[analytical][metric].value});
  }
  for (const measured::Stratum& part : evaluation.strata) {
    const measured::Score& score = part.columns.back()[measured::Metric::kMape];
    if (part.breakdown == measured::Breakdown::kAll || !score.value) continue;
    card.metrics.push_back({.metric = std::string(measured::name(measured::Metric::kMape)),
                            .n = part.rows,
                            .value = *score.value,
                            .baseline = part.columns[analytical][measured::Metric::kMape].value,
                            .of = fmt::format("{} {}", name(part.breakdown), part.name)});
  }
  return all;
}

Training::Training(const analytical::CostModel& prior, const Experiment& experiment,
                   ExperimentData& data, const std::string& learner, int jobs)
    : experiment_(with_learner_alone(experiment, learner)),
      loaded_(load_sets(experiment_, data, jobs)),
      rounds_(experiment_splits(experiment_, loaded_.sets, loaded_.names)),
      columns_(prior, experiment_, loaded_, jobs),
      jobs_(jobs) {}

std::vector<learned::ModelData> Training::rows(const learned::Examples& examples,
                                               const learned::TrainValidation& sides) const {
  std::vector<learned::ModelData> rows = model_data(loaded_);
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
  result.scores = score_held_out(experiment_, sheet, jobs_, result.about, result.notes);
  result.sheet = std::move(sheet);
}

void Training::evaluate_quantity(const learned::Examples& fitted, TrainingResult& result) const {
  const std::vector<double> known =
      learned::quantity_values(fitted.subset(result.trained.split.train));
  const learned::Examples held_out = columns_.examples(split().score);
  const double mean = std::accumulate(known.begin(), known.end(), 0.0) / double(known.size());
  const auto constant = [&](double value) {
    return std::vector<double>(held_out.rows.size(), value);
  };
  result.quantity = learned::quantity_report(
      held_out, {{"mean of training rows", constant(mean)},
                 {"median of training rows", constant(base::quantile(known, 0.5))},
                 {learner().name, learned::quantity_answers(*result.trained.predictor, held_out)}});
  for (const learned::QuantityStratum& stratum : result.quantity->strata) {
    if (!stratum.scores.back()) continue;
    const measured::QuantityScores &ours = *stratum.scores.back(), &theirs = *stratum.scores[0];
    const auto add = [&](const char* metric, std::optional<double> value,
                         std::optional<double> baseline) {
      if (!value) return;
      result.about.metrics.push_back({.metric = metric,
                                      .n = stratum.rows,
                                      .value = *value,
                                      .baseline = baseline,
                                      .of = stratum.name == "all" ? "" : "class " + stratum.name});
    };
    add("rmse", ours.rmse, theirs.rmse);
    add("rmse_of_range", ours.rmse_of_range, theirs.rmse_of_range);
    add("mean_absolute_error", ours.mean_absolute, theirs.mean_absolute);
    add("exact", ours.exact, theirs.exact);
  }
}

// Of a model of text: how much of the held-out kernels it cannot read.
void Training::note_unknown_tokens(TrainingResult& result) const {
  const learned::Vocabulary* vocabulary = learned::vocabulary_of(*result.trained.predictor);
  if (vocabulary == nullptr) return;
  const learned::Examples held_out = columns_.examples(split().score);
  learned::UnknownTokens unknown;
  for (std::size_t i = 0; i < held_out.rows.size(); ++i) {
    unknown.add(vocabulary->encode(held_out.queries[i], *held_out.rows[i].device));
  }
  result.notes.push_back(
      fmt::format("{:.2f} % of the tokens of held-out kernels are unknown; the vocabulary has {}",
                  100 * unknown.share(), vocabulary->size()));
}

TrainingResult Training::run(const learned::LearnerHooks& hooks) const {
  const learned::Examples examples = columns_.examples(split().fit);
  TrainingResult result{.trained = learned::train(learner(), examples, hooks)};
  result.about.data = rows(examples, result.trained.split);
  result.notes = columns_.notes();
  note_unknown_tokens(result);
  if (learner().target.is_time()) {
    evaluate(result);
  } else {
    evaluate_quantity(examples, result);
  }
  return result;
}

}  // namespace tilecast::validation
