#include "hybrid/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "hybrid/hybrid_dir.h"
#include "hybrid/machines.h"

namespace tilecast::hybrid {
namespace {

using learned::Example;
using learned::Examples;
using learned::ValidateBy;
using measured::Split;

constexpr std::size_t kEnoughGroups = 5, kLeastKinds = 3, kMostFolds = 4, kMostAtOnce = 4096;

std::size_t count_distinct(const std::vector<std::string>& keys) {
  return std::set<std::string>(keys.begin(), keys.end()).size();
}

std::string group_key(const Examples& examples, std::size_t row, ValidateBy by) {
  const Example& example = examples.rows[row];
  if (by == ValidateBy::kFamily) return examples.families.at(example.family);
  if (by == ValidateBy::kKernel) return fmt::format("{:010}", example.kernel);
  return fmt::format("{:010}", row);
}

std::vector<std::string> group_keys(const Examples& examples, ValidateBy by) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) keys.push_back(group_key(examples, i, by));
  return keys;
}

// The widest groups there are enough of.
ValidateBy widest(const Examples& examples) {
  for (const ValidateBy by : {ValidateBy::kFamily, ValidateBy::kKernel}) {
    if (count_distinct(group_keys(examples, by)) >= kEnoughGroups) return by;
  }
  return ValidateBy::kRow;
}

std::vector<Split> trial_folds(const std::vector<std::string>& keys, std::size_t folds,
                               std::size_t least, std::uint64_t seed) {
  const std::size_t groups = count_distinct(keys);
  if (groups < std::max<std::size_t>(least, 2)) return {};
  return measured::k_fold(keys, std::min(folds, groups), seed);
}

// Families share kernels, and kinds the tiles of one: work that is scored is not fitted.
std::vector<Split> apart(std::vector<Split> splits, const TrialRows& rows) {
  for (Split& split : splits) {
    std::set<std::uint32_t> scored;
    for (const std::size_t row : split.score) scored.insert(rows.examples.rows[row].kernel);
    std::erase_if(split.fit,
                  [&](std::size_t row) { return scored.contains(rows.examples.rows[row].kernel); });
  }
  std::erase_if(splits, [](const Split& split) { return split.fit.empty(); });
  return splits;
}

// Of the rows a split scores, to the nearest of the machines it fits.
std::vector<double> machine_distances(const analytical::CostModel& prior, const TrialRows& rows,
                                      const Split& split) {
  std::vector<const hwdesc::Device*> fitted;
  for (const std::size_t row : split.fit) {
    const hwdesc::Device* const device = rows.examples.rows[row].device;
    if (std::ranges::find(fitted, device->name, &hwdesc::Device::name) == fitted.end()) {
      fitted.push_back(device);
    }
  }
  std::vector<double> distances(split.score.size());
  for (const auto& [begin, end] : learned::device_runs(rows.examples, split.score, kMostAtOnce)) {
    const Examples asked = rows.examples.subset(std::span(split.score).subspan(begin, end - begin));
    const auto nearest =
        nearest_machines(prior, asked.queries, *asked.rows.front().device, asked.priors, fitted);
    for (std::size_t i = begin; i < end; ++i) distances[i] = nearest[i - begin].distance;
  }
  return distances;
}

}  // namespace

double TrialRows::residual(std::size_t row) const {
  return examples.rows[row].target - std::log(examples.priors[row]->time.value);
}

TrialRows trial_rows(const analytical::CostModel& prior, std::span<const measured::SampleSet> sets,
                     std::span<const hwdesc::Device> devices, std::optional<ValidateBy> trial_by,
                     int jobs) {
  const Examples all = learned::make_examples(sets, devices, prior, true, jobs);
  std::vector<std::size_t> answered;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    if (all.priors[i] && all.priors[i]->time.value > 0) answered.push_back(i);
  }
  TrialRows rows{.examples = all.subset(answered)};
  rows.names.resize(all.kernels.size());
  for (std::size_t i = 0; i < rows.examples.rows.size(); ++i) {
    const Example& row = rows.examples.rows[i];
    const measured::SampleSet& set = sets[row.set];
    const measured::Workload& work = set.works[set.samples[row.sample].work];
    rows.names[row.kernel] = work.name;
    rows.works.push_back(work_of(rows.examples.queries[i].kernel, *rows.examples.priors[i]));
    rows.by_kind.emplace_back(rows.works.back().kind);
    rows.by_device.push_back(row.device->name);
  }
  rows.trial_by = trial_by.value_or(widest(rows.examples));
  rows.by_group = group_keys(rows.examples, rows.trial_by);
  return rows;
}

TrialPlan plan_trials(const TrialRows& rows, std::size_t folds, std::uint64_t seed) {
  std::vector<Split> base = trial_folds(rows.by_group, folds, 2, seed);
  // Rows of one kernel are told apart on purpose.
  if (rows.trial_by != ValidateBy::kRow) base = apart(std::move(base), rows);
  return {.base = std::move(base),
          .by_kind = apart(trial_folds(rows.by_kind, kMostFolds, kLeastKinds, seed), rows),
          .by_device = trial_folds(rows.by_device, kMostDevices, 2, seed)};
}

std::vector<double> predict_trials(const learned::LearnerSpec& learner, const TrialRows& rows,
                                   std::span<const Split> splits, int jobs) {
  std::vector<double> predicted(rows.examples.rows.size());
  base::parallel_for(splits.size(), jobs, [&](std::size_t fold) {
    const Split& split = splits[fold];
    const learned::Trained trained = learned::train(learner, rows.examples.subset(split.fit));
    for (const auto& [begin, end] : learned::device_runs(rows.examples, split.score, kMostAtOnce)) {
      const std::span<const std::size_t> chosen =
          std::span(split.score).subspan(begin, end - begin);
      const Examples asked = rows.examples.subset(chosen);
      std::vector<double> out(chosen.size());
      trained.predictor->predict(asked.queries, *asked.rows.front().device, asked.priors, out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double residual = out[i] - std::log(asked.priors[i]->time.value);
        predicted[chosen[i]] = std::isfinite(residual) ? residual : 0;
      }
    }
  });
  return predicted;
}

std::vector<Trial> trials_of(const analytical::CostModel& prior, const TrialRows& rows,
                             std::span<const Split> splits, const std::vector<std::string>& keys,
                             std::span<const double> predicted, Machines machines) {
  std::map<std::string, std::uint32_t> numbers;
  for (const std::string& key : keys) {
    numbers.emplace(key, static_cast<std::uint32_t>(numbers.size()));
  }
  std::vector<Trial> trials;
  for (const Split& split : splits) {
    const Examples fitted = rows.examples.subset(split.fit);
    std::vector<Work> works;
    for (const std::size_t row : split.fit) works.push_back(rows.works[row]);
    const Domain domain = Domain::of(fitted, works, rows.names);
    const std::vector<double> distances = machines == Machines::kLeftOut
                                              ? machine_distances(prior, rows, split)
                                              : std::vector<double>(split.score.size());
    for (std::size_t i = 0; i < split.score.size(); ++i) {
      const std::size_t row = split.score[i];
      const Example& example = rows.examples.rows[row];
      Position position = domain.locate(rows.works[row], example.device->name);
      position.machine = distances[i];
      trials.push_back({.residual = rows.residual(row),
                        .predicted = predicted[row],
                        .share = std::sqrt(example.weight),
                        .position = position,
                        .time = rows.examples.priors[row]->time.value,
                        .kind = std::string(rows.works[row].kind),
                        .device = example.device->name,
                        .group = numbers.at(keys[row]),
                        .family = example.family});
    }
  }
  return trials;
}

double whole_error(double residual, double predicted, double share) {
  return std::abs(std::log1p(share * std::expm1(predicted - residual)));
}

Choice choose_candidate(const TrialRows& rows, std::span<const std::vector<double>> predicted) {
  TC_CHECK(!predicted.empty(), "physics alone is always a candidate");
  struct Group {
    std::vector<double> errors;  // by candidate
    double rows = 0;
  };
  std::map<std::string, Group> groups;
  for (std::size_t row = 0; row < rows.by_group.size(); ++row) {
    Group& group = groups[rows.by_group[row]];
    group.errors.resize(predicted.size());
    group.rows += 1;
    const double share = std::sqrt(rows.examples.rows[row].weight);
    for (std::size_t c = 0; c < predicted.size(); ++c) {
      group.errors[c] += whole_error(rows.residual(row), predicted[c][row], share);
    }
  }
  const double n = static_cast<double>(groups.size());
  Choice choice;
  choice.scores.resize(predicted.size());
  for (auto& [key, group] : groups) {
    for (std::size_t c = 0; c < predicted.size(); ++c) {
      group.errors[c] /= group.rows;
      choice.scores[c].error += group.errors[c] / n;
    }
  }
  const std::size_t best = static_cast<std::size_t>(
      std::ranges::min_element(choice.scores, {}, &CandidateScore::error) - choice.scores.begin());
  for (std::size_t c = 0; c < predicted.size(); ++c) {
    const double mean = choice.scores[c].error - choice.scores[best].error;
    double squares = 0;
    for (const auto& [key, group] : groups) {
      const double difference = group.errors[c] - group.errors[best] - mean;
      squares += difference * difference;
    }
    choice.scores[c].deviation = n > 1 ? std::sqrt(squares / (n - 1) / n) : mean;
  }
  choice.least = choice.scores[best].error;
  while (choice.scores[choice.chosen].error >
         choice.scores[best].error + choice.scores[choice.chosen].deviation) {
    ++choice.chosen;
  }
  return choice;
}

}  // namespace tilecast::hybrid
