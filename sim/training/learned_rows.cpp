#include "sim/training/learned_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "learned/training/quantity_report.h"

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
    throw Error(fmt::format("learner {}: {}", learner.name, error.what()));
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
        fmt::format("{} rows take no longer than the host's dispatch in them: learners take "
                    "{:.0f} % of such a row for the kernel's",
                    all_.below_dispatch, 100 * learned::kLeastShare));
  }
  return notes;
}

}  // namespace tilecast::sim::training
