#include "validation/label_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/random.h"
#include "hwdesc/device_yaml.h"
#include "measured/quantity_scores.h"
#include "measured/splits.h"

namespace tilecast::validation {
namespace {

using learned::Examples;
using learned::LearnerSpec;
using learned::Target;

// Ranks from 0, ascending by value; equal values share their mean rank.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    }
  }
  return ranks;
}

// nullopt if all values of one side are equal.
std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (!(aa > 0) || !(bb > 0)) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

// The label in its unit; for times, log(seconds).
double label_of(const Target& target, const learned::Example& row) {
  return target.is_time() ? row.target : learned::unscaled(target, row.target);
}

double log_time(const std::optional<analytical::Estimate>& prior) {
  return prior ? std::log(prior->time.value) : 0;
}

std::vector<double> labels_of(const Examples& examples) {
  std::vector<double> labels;
  for (const learned::Example& row : examples.rows) {
    labels.push_back(label_of(examples.target, row));
  }
  return labels;
}

// The rows of one target, and their split per seed.
struct TargetRows {
  Examples examples;
  double range = 0;
  std::vector<measured::Split> splits;
};

std::vector<std::size_t> sampled(const LabelExperiment& experiment, std::size_t rows) {
  std::vector<std::size_t> chosen(rows);
  std::iota(chosen.begin(), chosen.end(), 0);
  if (experiment.rows == 0 || experiment.rows >= rows) return chosen;
  std::mt19937_64 random(experiment.seed);
  base::shuffle(chosen, random);
  chosen.resize(experiment.rows);
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<std::string> split_keys(const Examples& examples, learned::ValidateBy by) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const learned::Example& row = examples.rows[i];
    keys.push_back(by == learned::ValidateBy::kFamily   ? examples.families.at(row.family)
                   : by == learned::ValidateBy::kKernel ? std::to_string(row.kernel)
                                                        : std::to_string(i));
  }
  return keys;
}

// If families share work, removes it from the fitted side.
void separate_works(const Examples& examples, measured::Split& split) {
  std::vector<bool> scored(examples.kernels.size(), false);
  for (const std::size_t row : split.score) scored[examples.rows[row].kernel] = true;
  std::erase_if(split.fit, [&](std::size_t row) { return scored[examples.rows[row].kernel]; });
}

struct Task {
  std::size_t target = 0, seed = 0;
  const LearnerSpec* learner = nullptr;  // null: the mean, or the analytical model
  bool physics = false;
};

// The numbers of a score as the result of a job; "-": no value.
std::string packed(const LabelScore& score) {
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "-";
  };
  return fmt::format("{} {} {} {} {} {} {}", score.train_rows, score.test_rows, score.rmse,
                     text(score.exact), text(score.spearman), text(score.unknown_tokens),
                     score.train_s);
}

LabelScore unpacked(const std::string& text, LabelScore score) {
  std::istringstream words(text);
  std::string rmse, exact, spearman, unknown, seconds;
  words >> score.train_rows >> score.test_rows >> rmse >> exact >> spearman >> unknown >> seconds;
  TC_CHECK(!words.fail(), "a job's result of this format");
  const auto number = [](const std::string& word) { return std::strtod(word.c_str(), nullptr); };
  const auto perhaps = [&](const std::string& word) {
    return word == "-" ? std::nullopt : std::optional(number(word));
  };
  score.rmse = number(rmse);
  score.exact = perhaps(exact);
  score.spearman = perhaps(spearman);
  score.unknown_tokens = perhaps(unknown);
  score.train_s = number(seconds);
  return score;
}

class LabelRun {
 public:
  LabelRun(const LabelExperiment& experiment, int jobs)
      : experiment_(experiment), device_(hwdesc::load_device(experiment.device)), jobs_(jobs) {
    const measured::MeasurementSet set = measured::read_measurement_set(experiment.set);
    sets_.push_back(measured::make_samples(
        set, device_, {.check_physics = false, .untimed = true, .jobs = jobs}));
    devices_.push_back(device_);
    for (const Target& target : experiment.targets) add_target(target);
  }

  std::optional<LabelResult> run(base::Jobs how, base::Ranks* ranks,
                                 const std::function<void(std::size_t, std::size_t)>& step) {
    LabelResult result{
        .experiment = experiment_, .set_name = sets_.front().name, .set_hash = sets_.front().hash};
    const std::vector<Task> tasks = all_tasks();
    how.count = tasks.size();
    how.run = [&](std::size_t i) { return packed(score(tasks[i])); };
    if (step) how.progress = [&](std::size_t done) { step(done, tasks.size()); };
    how.identity += "\n" + result.set_hash;
    const base::JobResults done = base::run_jobs(how, ranks);
    if (!done.complete) return std::nullopt;
    std::vector<LabelScore> scores;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      scores.push_back(unpacked(done.results[i], named(tasks[i])));
    }
    for (std::size_t first = 0; first < scores.size(); first += experiment_.seeds) {
      result.scores.push_back(mean_of(std::span(scores).subspan(first, experiment_.seeds)));
    }
    for (const TargetRows& rows : targets_) result.targets.push_back(rows.examples.target);
    for (const LabelBar& bar : experiment_.bars) {
      result.bars.push_back(judged(bar, result.scores));
    }
    return result;
  }

 private:
  [[nodiscard]] bool needs_prior() const {
    const auto needs = [](const LearnerSpec& learner) { return learner.needs_prior(); };
    return std::ranges::any_of(experiment_.learners, needs) ||
           learned::TableFeatures({.groups = experiment_.physics, .parameters = {}}).needs_prior();
  }

  void add_target(const Target& target) {
    const Examples all =
        learned::make_examples(sets_, devices_, physics_, needs_prior(), jobs_, target);
    TargetRows made{.examples = all.subset(sampled(experiment_, all.rows.size()))};
    const std::vector<double> labels = labels_of(made.examples);
    if (labels.empty()) {
      throw Error(fmt::format("{}: no row has {}", experiment_.set, target.quantity));
    }
    const auto [low, high] = std::ranges::minmax(labels);
    made.range = high > low ? high - low : 1;
    const std::vector<std::string> keys = split_keys(made.examples, experiment_.by);
    for (std::size_t i = 0; i < experiment_.seeds; ++i) {
      made.splits.push_back(measured::held_out(keys, experiment_.test, experiment_.seed + i));
      separate_works(made.examples, made.splits.back());
    }
    targets_.push_back(std::move(made));
  }

  // Tasks of one score are adjacent.
  [[nodiscard]] std::vector<Task> all_tasks() const {
    std::vector<Task> tasks;
    const auto add = [&](std::size_t target, const LearnerSpec* learner, bool physics) {
      for (std::size_t seed = 0; seed < experiment_.seeds; ++seed) {
        tasks.push_back({target, seed, learner, physics});
      }
    };
    for (std::size_t target = 0; target < targets_.size(); ++target) {
      add(target, nullptr, false);
      const Examples& examples = targets_[target].examples;
      if (examples.target.is_time() && !examples.priors.empty()) add(target, nullptr, true);
      for (const LearnerSpec& learner : experiment_.learners) {
        add(target, &learner, false);
        if (!experiment_.physics.empty()) add(target, &learner, true);
      }
    }
    return tasks;
  }

  [[nodiscard]] LearnerSpec spec_of(const Task& task) const {
    LearnerSpec spec = *task.learner;
    spec.target = experiment_.targets[task.target];
    spec.seed += task.seed;
    if (!task.physics) return spec;
    learned::FeatureSelection& selection = spec.kind == learned::LearnerKind::kNetwork
                                               ? spec.network_features.at_kernel
                                               : spec.features;
    for (const learned::FeatureGroup group : experiment_.physics) {
      if (!has_group(selection, group)) selection.groups.push_back(group);
    }
    return spec;
  }

  [[nodiscard]] LabelScore named(const Task& task) const {
    return {.target = experiment_.targets[task.target].quantity,
            .learner = task.learner != nullptr ? task.learner->name
                       : task.physics          ? "analytical"
                                               : "mean",
            .physics = task.physics};
  }

  LabelScore score(const Task& task) const {
    const TargetRows& rows = targets_[task.target];
    const measured::Split& split = rows.splits[task.seed];
    const Examples fitted = rows.examples.subset(split.fit);
    const Examples asked = rows.examples.subset(split.score);
    LabelScore score = named(task);
    score.train_rows = fitted.rows.size();
    score.test_rows = asked.rows.size();
    std::vector<double> predicted(asked.rows.size());
    if (task.learner == nullptr && task.physics) {
      std::ranges::transform(asked.priors, predicted.begin(), log_time);
    } else if (task.learner == nullptr) {
      const std::vector<double> known = labels_of(fitted);
      std::ranges::fill(predicted, std::accumulate(known.begin(), known.end(), 0.0) /
                                       static_cast<double>(std::max<std::size_t>(known.size(), 1)));
    } else {
      predict(spec_of(task), fitted, asked, predicted, score);
    }
    const LabelErrors errors =
        label_errors(rows.examples.target, rows.range, predicted, labels_of(asked));
    score.rmse = errors.rmse;
    score.exact = errors.exact;
    score.spearman = errors.spearman;
    return score;
  }

  void predict(const LearnerSpec& spec, const Examples& fitted, const Examples& asked,
               std::vector<double>& predicted, LabelScore& score) const {
    try {
      const learned::Trained trained = learned::train(spec, fitted, {});
      trained.predictor->predict(asked.queries, device_, asked.priors, predicted);
      score.train_s = trained.seconds;
      const learned::Vocabulary* vocabulary = learned::vocabulary_of(*trained.predictor);
      if (vocabulary == nullptr) return;
      learned::UnknownTokens unknown;
      for (const analytical::KernelQuery& query : asked.queries) {
        unknown.add(vocabulary->encode(query, device_));
      }
      score.unknown_tokens = unknown.share();
    } catch (const Error& error) {
      throw Error(fmt::format("learner {}: {}: {}", spec.name, score.target, error.what()));
    }
  }

  // Mean over seeds; empty if one seed has no value.
  static LabelScore mean_of(std::span<const LabelScore> scores) {
    LabelScore mean = scores.front();
    const auto over_seeds = [&](auto member) {
      std::optional<double> sum = 0;
      for (const LabelScore& score : scores) {
        const std::optional<double> value = score.*member;
        sum = sum && value ? std::optional(*sum + *value) : std::nullopt;
      }
      return sum ? std::optional(*sum / static_cast<double>(scores.size())) : std::nullopt;
    };
    mean.rmse = *over_seeds(&LabelScore::rmse);
    mean.exact = over_seeds(&LabelScore::exact);
    mean.spearman = over_seeds(&LabelScore::spearman);
    mean.unknown_tokens = over_seeds(&LabelScore::unknown_tokens);
    for (const LabelScore& score : scores) mean.train_s = std::max(mean.train_s, score.train_s);
    return mean;
  }

  static LabelBarResult judged(const LabelBar& bar, std::span<const LabelScore> scores) {
    LabelBarResult result{.bar = bar, .value = {}};
    const bool least = bar.metric == LabelMetric::kRmse;
    for (const LabelScore& score : scores) {
      if (score.target != bar.target || score.learner != bar.learner) continue;
      if (bar.physics.value_or(score.physics) != score.physics) continue;
      const std::optional<double> value = score.value(bar.metric);
      const bool better =
          value && (!result.value || (least ? *value < *result.value : *value > *result.value));
      if (better) result.value = value;
    }
    result.met = result.value && (least ? *result.value <= bar.limit : *result.value >= bar.limit);
    return result;
  }

  const LabelExperiment& experiment_;
  hwdesc::Device device_;
  int jobs_;
  analytical::AnalyticalModel physics_;
  std::vector<measured::SampleSet> sets_;
  std::vector<hwdesc::Device> devices_;
  std::vector<TargetRows> targets_;
};

}  // namespace

std::optional<double> LabelScore::value(LabelMetric metric) const {
  if (metric == LabelMetric::kRmse) return rmse;
  return metric == LabelMetric::kExact ? exact : spearman;
}

LabelErrors label_errors(const Target& target, double range, std::span<const double> predicted,
                         std::span<const double> labels) {
  TC_CHECK(predicted.size() == labels.size() && range > 0, "one prediction per label");
  LabelErrors errors;
  std::vector<measured::QuantityPair> pairs;
  for (std::size_t i = 0; i < labels.size(); ++i) pairs.push_back({predicted[i], labels[i]});
  const auto scores = measured::quantity_scores(pairs, range, target.count);
  if (!scores) return errors;
  errors.rmse = scores->rmse / range;
  errors.exact = scores->exact;
  errors.spearman = correlation(ranks_of(predicted), ranks_of(labels));
  return errors;
}

std::optional<LabelResult> run_label_experiment(
    const LabelExperiment& experiment, base::Jobs how, base::Ranks* ranks,
    const std::function<void(std::size_t, std::size_t)>& step) {
  return LabelRun(experiment, how.threads).run(std::move(how), ranks, step);
}

}  // namespace tilecast::validation
