#include "validation/experiment_learners.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "validation/experiment_splits.h"

namespace tilecast::validation {
namespace {

using learned::Examples;
using learned::Predictor;

// exp() of it is finite and not 0.
constexpr double kLargestExponent = 700;

bool needs_prior(const Experiment& experiment) {
  return std::ranges::any_of(experiment.learners, &learned::LearnerSpec::needs_prior);
}

learned::Target target_of(const Experiment& experiment) {
  return experiment.learners.empty() ? learned::Target{} : experiment.learners.front().target;
}

}  // namespace

LearnedColumns::LearnedColumns(const analytical::CostModel& prior, const Experiment& experiment,
                               const LoadedSets& loaded, int jobs)
    : loaded_(loaded),
      all_(learned::make_examples(loaded.sets, loaded.devices, prior, needs_prior(experiment), jobs,
                                  target_of(experiment))) {
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

Examples LearnedColumns::examples(std::span<const std::size_t> rows) const {
  std::vector<std::size_t> chosen;
  for (const std::size_t row : rows) {
    if (example_of_[row]) chosen.push_back(*example_of_[row]);
  }
  return all_.subset(chosen);
}

double LearnedColumns::comparable_s(const Predictor& predictor, std::size_t example,
                                    double out) const {
  const double time_s = std::exp(std::clamp(out, -kLargestExponent, kLargestExponent));
  const learned::Example& row = all_.rows[example];
  const measured::SampleSet& set = loaded_.sets[row.set];
  const measured::Sample& sample = set.samples[row.sample];
  if (predictor.ranks_only() || !sample.holds_dispatch) return time_s;
  const std::string& op_class = set.works[sample.work].op_class;
  return time_s + measured::dispatch_of(op_class, set.manifest, *row.device).value;
}

std::vector<std::optional<double>> LearnedColumns::predict(
    const Predictor& predictor, std::span<const std::size_t> rows) const {
  std::vector<std::optional<double>> predicted_s(rows.size());
  std::size_t begin = 0;
  while (begin < rows.size()) {  // rows of one set after the other: one device each
    std::vector<std::size_t> places, chosen;
    std::optional<std::size_t> set;
    std::size_t end = begin;
    for (; end < rows.size(); ++end) {
      const std::optional<std::size_t> example = example_of_[rows[end]];
      if (!example) continue;
      if (set && *set != all_.rows[*example].set) break;
      set = all_.rows[*example].set;
      places.push_back(end);
      chosen.push_back(*example);
    }
    if (!chosen.empty()) {
      const Examples asked = all_.subset(chosen);
      std::vector<double> out(chosen.size());
      predictor.predict(asked.queries, loaded_.devices[*set], asked.priors, out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (!std::isfinite(out[i])) continue;
        predicted_s[places[i]] = comparable_s(predictor, chosen[i], out[i]);
      }
    }
    begin = end;
  }
  return predicted_s;
}

std::optional<double> LearnedColumns::fitted_log_l1(const learned::Trained& trained,
                                                    std::span<const std::size_t> rows) const {
  if (trained.predictor->ranks_only() || !all_.target.is_time()) return std::nullopt;
  std::vector<std::size_t> examples;
  for (const std::size_t row : rows) {
    if (example_of_[row]) examples.push_back(*example_of_[row]);
  }
  std::vector<std::size_t> trained_on;
  for (const std::size_t i : trained.split.train) trained_on.push_back(examples[i]);
  std::vector<measured::Pair> pairs;
  std::size_t begin = 0;
  while (begin < trained_on.size()) {  // of one set and device
    const std::size_t set = all_.rows[trained_on[begin]].set;
    std::size_t end = begin;
    while (end < trained_on.size() && all_.rows[trained_on[end]].set == set) ++end;
    const Examples asked = all_.subset(std::span(trained_on).subspan(begin, end - begin));
    std::vector<double> out(end - begin);
    trained.predictor->predict(asked.queries, loaded_.devices[set], asked.priors, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!std::isfinite(out[i])) return std::nullopt;
      pairs.push_back(
          {.predicted = std::exp(std::clamp(out[i], -kLargestExponent, kLargestExponent)),
           .measured = std::exp(asked.rows[i].target)});
    }
    begin = end;
  }
  return measured::log_l1(pairs);
}

LearnedAnswer LearnedColumns::run(const learned::LearnerSpec& learner, const measured::Split& split,
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

std::vector<std::string> LearnedColumns::notes() const {
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

}  // namespace tilecast::validation
