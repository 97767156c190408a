#include "sim/training/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/statistics.h"
#include "hybrid/hybrid_dir.h"

namespace tilecast::sim::training {
namespace {

using learned::Examples;
using learned::Predictor;

// exp() of it is finite and not 0.
constexpr double kLargestExponent = 700;

bool needs_prior(const TrainingFile& file) {
  return std::ranges::any_of(file.learners, &learned::LearnerSpec::needs_prior);
}

learned::Target target_of(const TrainingFile& file) {
  return file.learners.empty() ? learned::Target{} : file.learners.front().target;
}

using measured::Metric;

// The file reduced to the requested learner or hybrid; hybrids always get the interval metrics.
TrainingFile with_one(TrainingFile file, const std::string& asked_for) {
  std::vector<std::string> names;
  for (const learned::LearnerSpec& spec : file.learners) names.push_back(spec.name);
  for (const hybrid::HybridSpec& spec : file.hybrids) names.push_back(spec.name);
  const bool has_hybrids = !file.hybrids.empty();
  if (names.empty()) {
    throw Error("{}: learners: there are none; nothing to train", file.file);
  }
  if (asked_for.empty() && names.size() > 1) {
    throw Error("{}: {} learners{}, expected one; choose it with --learner: {}", file.file,
                names.size(), has_hybrids ? " and hybrids" : "", fmt::join(names, ", "));
  }
  const std::string name = asked_for.empty() ? names.front() : asked_for;
  if (std::ranges::find(names, name) == names.end()) {
    throw Error("{}: no learner{} is called '{}'; there are: {}", file.file,
                has_hybrids ? " or hybrid" : "", name, fmt::join(names, ", "));
  }
  std::erase_if(file.learners, [&](const auto& spec) { return spec.name != name; });
  std::erase_if(file.hybrids, [&](const auto& spec) { return spec.name != name; });
  for (const Metric metric : {Metric::kCoverage, Metric::kIntervalWidth}) {
    if (file.hybrids.empty() || std::ranges::find(file.metrics, metric) != file.metrics.end())
      continue;
    file.metrics.push_back(metric);
  }
  return file;
}

// Writes the scores of the held-out rows to the card, with the last column next to analytical, and
// rows without a prediction to the notes.
measured::Stratum score_held_out(const TrainingFile& file, const measured::ScoreSheet& sheet,
                                 int jobs, learned::ModelCard& card,
                                 std::vector<std::string>& notes) {
  const measured::Evaluation evaluation = measured::evaluate(
      sheet, {.by = file.by,
              .jobs = jobs,
              .row_spearman = std::ranges::count(file.metrics, Metric::kRowSpearman) > 0});
  measured::Stratum all = evaluation.strata.front();
  if (all.rows < all.rows_measured) {
    notes.push_back(fmt::format("{} of {} held-out rows were not answered and are not scored",
                                all.rows_measured - all.rows, all.rows_measured));
  }
  const auto add = [&](const measured::Stratum& part, Metric metric, std::size_t n,
                       const std::string& of) {
    const measured::Score& score = part.columns.back()[metric];
    if (!score.value) return;
    const measured::Score& analytical = part.columns[part.columns.size() - 2][metric];
    card.metrics.push_back({.metric = std::string(measured::name(metric)),
                            .n = n,
                            .value = *score.value,
                            .baseline = analytical.value,
                            .of = of});
  };
  for (const Metric metric : file.metrics) {
    add(all, metric, measured::ranks_tiles(metric) ? all.kernels_with_tiles : all.rows, "");
  }
  for (const measured::Stratum& part : evaluation.strata) {
    if (part.breakdown == measured::Breakdown::kAll) continue;
    add(part, Metric::kMape, part.rows, fmt::format("{} {}", name(part.breakdown), part.name));
  }
  return all;
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

LearnedRows::LearnedRows(const analytical::CostModel& prior, const TrainingFile& file,
                         const LoadedSets& loaded, int jobs)
    : loaded_(loaded),
      all_(learned::make_examples(loaded.sets, loaded.devices, prior, needs_prior(file), jobs,
                                  target_of(file))) {
  std::vector<std::size_t> first;
  std::size_t rows = 0;
  for (const measured::SampleSet& set : loaded.sets) {
    first.push_back(rows);
    rows += set.samples.size();
  }
  example_of_.resize(rows);
  for (std::size_t i = 0; i < all_.rows.size(); ++i) {
    example_of_[first[all_.rows[i].set] + all_.rows[i].sample] = i;
  }
}

std::vector<std::size_t> LearnedRows::examples_of(std::span<const std::size_t> rows) const {
  std::vector<std::size_t> chosen;
  for (const std::size_t row : rows) {
    if (example_of_[row]) chosen.push_back(*example_of_[row]);
  }
  return chosen;
}

Examples LearnedRows::examples(std::span<const std::size_t> rows) const {
  return all_.subset(examples_of(rows));
}

double LearnedRows::comparable_s(const Predictor& predictor, std::size_t example,
                                 double out) const {
  const double time_s = std::exp(std::clamp(out, -kLargestExponent, kLargestExponent));
  const learned::Example& row = all_.rows[example];
  const measured::SampleSet& set = loaded_.sets[row.set];
  const measured::Sample& sample = set.samples[row.sample];
  if (predictor.ranks_only() || !sample.holds_dispatch) return time_s;
  const std::string& op_class = set.works[sample.work].op_class;
  return time_s + measured::dispatch_of(op_class, set.manifest, *row.device).value;
}

std::vector<std::optional<double>> LearnedRows::predict(const Predictor& predictor,
                                                        std::span<const std::size_t> rows) const {
  const std::vector<double> out = learned::quantity_answers(predictor, examples(rows));
  std::vector<std::optional<double>> predicted_s(rows.size());
  auto next = out.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<std::size_t> example = example_of_[rows[i]];
    if (!example) continue;
    if (std::isfinite(*next)) predicted_s[i] = comparable_s(predictor, *example, *next);
    ++next;
  }
  return predicted_s;
}

std::optional<double> LearnedRows::fitted_log_l1(const learned::Trained& trained,
                                                 std::span<const std::size_t> rows) const {
  if (trained.predictor->ranks_only() || !all_.target.is_time()) return std::nullopt;
  const Examples fitted = examples(rows).subset(trained.split.train);
  const std::vector<double> out = learned::quantity_answers(*trained.predictor, fitted);
  std::vector<measured::Pair> pairs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) return std::nullopt;
    pairs.push_back({.predicted = std::exp(std::clamp(out[i], -kLargestExponent, kLargestExponent)),
                     .measured = std::exp(fitted.rows[i].target)});
  }
  return measured::log_l1(pairs);
}

LearnedAnswer LearnedRows::run(const learned::LearnerSpec& learner, const measured::Split& split,
                               std::size_t round) const {
  learned::LearnerSpec spec = learner;
  spec.seed += round;
  try {
    const learned::Trained trained = learned::train(spec, examples(split.fit), {});
    LearnedAnswer answer{.round = {.learner = learner.name,
                                   .train_rows = trained.train_rows,
                                   .validation_rows = trained.validation_rows},
                         .predicted_s = predict(*trained.predictor, split.score)};
    answer.round.fitted_log_l1 = fitted_log_l1(trained, split.fit);
    const std::map<std::string, std::string> settings = learned::settings_of(trained.spec);
    for (const learned::SearchRange& range : learner.search.ranges) {
      answer.round.chosen.push_back(range.parameter + " " + settings.at(range.parameter));
    }
    return answer;
  } catch (const Error& error) {
    throw Error("learner {}: {}", learner.name, error.what());
  }
}

std::vector<std::string> LearnedRows::notes() const {
  std::vector<std::string> notes;
  if (all_.unlabelled > 0) {
    notes.push_back(fmt::format("{} rows have no {}: they are neither learned from nor scored",
                                all_.unlabelled,
                                all_.target.is_time() ? "time" : all_.target.quantity));
  }
  if (all_.programs > 0) {
    notes.push_back(fmt::format(
        "{} rows are of programs: learners of kernels neither see nor answer them", all_.programs));
  }
  if (all_.below_dispatch > 0) {
    notes.push_back(
        fmt::format("{} rows take no longer than the host's dispatch in them: learners take {:.0f} "
                    "% of such a row for the kernel's",
                    all_.below_dispatch, 100 * learned::kLeastShare));
  }
  return notes;
}

hybrid::FittedHybrid fit_rows(const analytical::CostModel& prior, const hybrid::HybridSpec& spec,
                              const LoadedSets& loaded, std::span<const std::size_t> rows,
                              const hybrid::HybridOptions& options) {
  std::vector<measured::SampleSet> sets;
  std::vector<hwdesc::Device> devices;
  std::vector<measured::SampleSet> all = restricted(loaded.sets, rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].samples.empty()) continue;
    sets.push_back(std::move(all[i]));
    devices.push_back(loaded.devices[i]);
  }
  return hybrid::fit_hybrid(prior, spec, sets, devices, options);
}

void TrainingResult::save(const std::string& directory, bool force) const {
  if (learner) return learner->save(card, directory, force);
  hybrid::save_hybrid(card, hybrid->parts(), directory, force);
}

Training::Training(const analytical::CostModel& prior, const TrainingFile& file, ImportedData& data,
                   const std::string& name, int jobs)
    : prior_(prior),
      file_(with_one(file, name)),
      loaded_(load_sets(file_, data, jobs)),
      rounds_(deal_rows(file_, loaded_.sets, loaded_.names)),
      jobs_(jobs) {
  if (learner() != nullptr) learned_.emplace(prior, file_, loaded_, jobs);
}

std::vector<std::string> Training::columns() const {
  return {"roofline", "analytical", name()};
}

std::vector<learned::ModelData> Training::rows(const learned::Examples& examples,
                                               const learned::TrainValidation& sides) const {
  std::vector<learned::ModelData> rows = model_data(loaded_);
  for (const std::size_t row : sides.train) ++rows[examples.rows[row].set].train;
  for (const std::size_t row : sides.validation) ++rows[examples.rows[row].set].validation;
  for (const learned::Example& row : learned_->examples(split().score).rows) ++rows[row.set].test;
  return rows;
}

std::vector<learned::ModelData> Training::rows() const {
  if (const learned::LearnerSpec* spec = learner()) {
    const learned::Examples examples = learned_->examples(split().fit);
    return rows(examples, learned::split_validation(examples, spec->validate_by, spec->validation,
                                                    spec->seed));
  }
  std::vector<learned::ModelData> rows = model_data(loaded_);
  const std::vector<RowPlace> all = rows_of(loaded_.sets);
  for (const std::size_t row : split().fit) ++rows[all[row].set].train;
  for (const std::size_t row : split().score) ++rows[all[row].set].test;
  return rows;
}

void Training::score(const RowAnswers& answers, TrainingResult& result) const {
  measured::ScoreSheet sheet = base_sheet(file_, columns(), loaded_, jobs_);
  std::vector<measured::ScoredRow> rows;
  for (std::size_t i = 0; i < split().score.size(); ++i) {
    measured::ScoredRow& row = rows.emplace_back(sheet.rows[split().score[i]]);
    row.predicted_s.back() = answers.predicted_s[i];
    if (answers.interval_s.empty()) continue;
    row.interval_s.assign(sheet.columns.size(), std::nullopt);
    row.interval_s.back() = answers.interval_s[i];
  }
  sheet.rows = std::move(rows);
  result.scores = score_held_out(file_, sheet, jobs_, result.card, result.notes);
}

void Training::score_quantity(const learned::Examples& fitted, TrainingResult& result) const {
  const std::vector<double> known =
      learned::quantity_values(fitted.subset(result.learner->split.train));
  const learned::Examples held_out = learned_->examples(split().score);
  const double mean = std::accumulate(known.begin(), known.end(), 0.0) / double(known.size());
  const auto constant = [&](double value) {
    return std::vector<double>(held_out.rows.size(), value);
  };
  result.quantity = learned::quantity_report(
      held_out, {{"mean of training rows", constant(mean)},
                 {"median of training rows", constant(base::quantile(known, 0.5))},
                 {name(), learned::quantity_answers(*result.learner->predictor, held_out)}});
  for (const learned::QuantityStratum& stratum : result.quantity->strata) {
    if (!stratum.scores.back()) continue;
    const measured::QuantityScores &ours = *stratum.scores.back(), &theirs = *stratum.scores[0];
    const auto add = [&](const char* metric, std::optional<double> value,
                         std::optional<double> baseline) {
      if (!value) return;
      result.card.metrics.push_back({.metric = metric,
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

// For text models: notes the length of the held-out kernels' texts and the fraction of unknown
// tokens.
void Training::note_unknown_tokens(TrainingResult& result) const {
  const learned::Vocabulary* vocabulary = learned::vocabulary_of(*result.learner->predictor);
  if (vocabulary == nullptr) return;
  const learned::Examples held_out = learned_->examples(split().score);
  learned::UnknownTokens unknown;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < held_out.rows.size(); ++i) {
    const learned::TokenIds text =
        vocabulary->encode(held_out.queries[i], *held_out.rows[i].device);
    unknown.add(text);
    tokens += text.ids.size() + text.cut;
  }
  result.notes.push_back(
      fmt::format("{:.2f} % of the tokens of held-out kernels are unknown; the vocabulary has {}; "
                  "a text has {}",
                  100 * unknown.share(), vocabulary->size(),
                  tokens / std::max<std::size_t>(1, held_out.rows.size())));
}

TrainingResult Training::train(const learned::LearnerHooks& hooks) const {
  const learned::Examples examples = learned_->examples(split().fit);
  TrainingResult result{.card = {}, .scores = {}};
  result.learner = learned::train(*learner(), examples, hooks);
  result.seconds = result.learner->seconds;
  result.card.data = rows(examples, result.learner->split);
  result.notes = learned_->notes();
  note_unknown_tokens(result);
  if (learner()->target.is_time()) {
    score({learned_->predict(*result.learner->predictor, split().score), {}}, result);
  } else {
    score_quantity(examples, result);
  }
  return result;
}

TrainingResult Training::fit(const Steps& steps) const {
  const auto start = std::chrono::steady_clock::now();
  hybrid::FittedHybrid fitted =
      fit_rows(prior_, hybrid(), loaded_, split().fit, {.jobs = jobs_, .step = steps.hybrid});
  TrainingResult result{.card = fitted.card, .scores = {}};
  result.trials = fitted.report;
  result.notes = loaded_.notes;
  result.notes.insert(result.notes.end(), fitted.notes.begin(), fitted.notes.end());
  result.card.settings = settings_of(hybrid(), fitted);
  result.card.data = rows();
  result.hybrid =
      std::make_unique<hybrid::HybridModel>(prior_, std::move(fitted.parts), hybrid().belief);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.card.training_seconds = result.seconds;
  if (fitted.rows < split().fit.size()) {
    result.notes.push_back(fmt::format(
        "{} of {} rows were not learned from: of programs, or without an analytical answer",
        split().fit.size() - fitted.rows, split().fit.size()));
  }
  score(predict_rows(*result.hybrid, loaded_, loaded_.devices, split().score, jobs_), result);
  return result;
}

TrainingResult Training::run(const Steps& steps) const {
  return learner() != nullptr ? train(steps.learner) : fit(steps);
}

}  // namespace tilecast::sim::training
