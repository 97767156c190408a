#include "search/tuner_surrogate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "learned/training/gbt_trainer.h"

namespace tilecast::search {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
// Columns of positive numbers with a larger range than this factor are used as logarithms.
constexpr float kLogarithmic = 4;

// Length scale of likeness() without a process, in deviations of the columns.
constexpr double kLength = 2;

learned::GbtSpec tree_spec(std::uint64_t seed) {
  return {.trees = 60,
          .depth = 4,
          .learning_rate = 0.15,
          .subsample = 1,  // the bootstrap already samples
          .column_sample = 0.7,
          .min_child_weight = 1,
          .lambda = 0.3,
          .early_stopping = 0,
          .seed = seed};
}

// Prior of the trust in physics: 1 with this standard deviation.
constexpr double kTrustDeviation = 0.5, kMostTrust = 1.5;
constexpr double kLeastVariance = 1e-4;  // of a log time, as repeats differ by 1 %

// Trees for analytical times over the whole space; these have no noise and are fitted closely.
constexpr learned::GbtSpec kPretrainedTrees{.trees = 100,
                                            .depth = 6,
                                            .learning_rate = 0.15,
                                            .subsample = 1,
                                            .column_sample = 1,
                                            .early_stopping = 0};

// Log analytical time by candidate, the median if it has none; empty if none has one.
std::vector<double> log_analytical(const TuneSpace& space) {
  std::vector<double> known;
  for (const std::optional<double>& time : space.analytical) {
    if (time) known.push_back(std::log(*time));
  }
  if (known.empty()) return {};
  const double middle = base::upper_median(std::move(known));
  std::vector<double> all;
  for (const std::optional<double>& time : space.analytical) {
    all.push_back(time ? std::log(*time) : middle);
  }
  return all;
}

// A column scaled to mean 0 and deviation 1, with 0 for missing values; empty if it is constant.
std::vector<float> scaled(std::vector<float> column) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const float x : column) {
    if (std::isnan(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (!(low < high)) return {};
  if (low > 0 && high > kLogarithmic * low) {
    for (float& x : column) x = std::log(x);
  }
  double sum = 0, squares = 0, count = 0;
  for (const float x : column) {
    if (std::isnan(x)) continue;
    sum += static_cast<double>(x);
    ++count;
  }
  const double mean = sum / count;
  for (const float x : column) {
    if (!std::isnan(x))
      squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  }
  const double deviation = std::sqrt(squares / count);
  if (!(deviation > 0)) return {};
  for (float& x : column) {
    x = std::isnan(x) ? 0 : static_cast<float>((static_cast<double>(x) - mean) / deviation);
  }
  return column;
}

// Converts a row-major table to columns.
std::vector<std::vector<float>> columns_of(std::span<const float> table, std::size_t columns,
                                           std::size_t rows) {
  std::vector<std::vector<float>> result(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      result[column].push_back(table[row * columns + column]);
    }
  }
  return result;
}

std::vector<float> by_row(const std::vector<std::vector<float>>& columns, std::size_t rows) {
  std::vector<float> table;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const auto& column : columns) table.push_back(column[row]);
  }
  return table;
}

}  // namespace

Surrogate::Surrogate(const TuneSpace& space, bool physics)
    : physics_(physics), prior_(physics ? log_analytical(space) : std::vector<double>{}) {
  std::vector<std::vector<float>> raw, whole;
  const auto add = [&](std::vector<float> column) {
    std::vector<float> values = scaled(column);
    if (values.empty()) return;
    raw.push_back(std::move(column));
    whole.push_back(std::move(values));
  };
  for (auto& column : columns_of(space.features, space.columns, space.size())) {
    add(std::move(column));
  }
  if (!prior_.empty()) {
    std::vector<float> answered;
    for (const auto& time : space.analytical) answered.push_back(time ? 1 : 0);
    add({prior_.begin(), prior_.end()});
    add(std::move(answered));
    for (auto& column : columns_of(space.terms, space.term_columns, space.size())) {
      if (!scaled(column).empty()) raw.push_back(std::move(column));
    }
  }
  if (raw.empty()) raw.emplace_back(space.size());  // all candidates are equal
  if (whole.empty()) whole.emplace_back(space.size());
  columns_ = raw.size();
  process_columns_ = whole.size();
  raw_ = by_row(raw, space.size());
  scaled_ = by_row(whole, space.size());
  if (!prior_.empty()) pretrain();
}

// Replaces analytical times by the trees' predictions, to which later trees are added.
void Surrogate::pretrain() {
  const auto rows = static_cast<double>(prior_.size());
  const double mean = std::accumulate(prior_.begin(), prior_.end(), 0.0) / rows;
  learned::GbtTable table{.columns = columns_, .values = raw_};
  for (const double time : prior_) table.targets.push_back(static_cast<float>(time - mean));
  table.groups.assign(prior_.size(), 0);
  const learned::GbtModel model =
      learned::train_gbt(table, {.columns = columns_}, kPretrainedTrees);
  std::vector<float> answers(prior_.size());
  model.predict(raw_, answers);
  std::ranges::transform(answers, prior_.begin(),
                         [&](float answer) { return mean + static_cast<double>(answer); });
}

double Surrogate::distance2(std::size_t a, std::size_t b) const {
  double sum = 0;
  for (std::size_t column = 0; column < process_columns_; ++column) {
    const double step = static_cast<double>(scaled_[a * process_columns_ + column]) -
                        static_cast<double>(scaled_[b * process_columns_ + column]);
    sum += step * step;
  }
  return sum / static_cast<double>(process_columns_);
}

double Surrogate::likeness(std::size_t a, std::size_t b) const {
  const double length = process_ ? process_->hyper().length : kLength;
  return std::exp(-0.5 * distance2(a, b) / (length * length));
}

std::vector<double> Surrogate::squares_to(std::size_t candidate) const {
  std::vector<double> squares;
  for (const std::size_t row : rows_) squares.push_back(distance2(candidate, row));
  return squares;
}

namespace {

struct Targets {
  std::vector<double> values;  // scaled to mean 0 and deviation 1
  double mean = 0, deviation = 1;
};
Targets standardised(std::vector<double> values) {
  constexpr double kLeast = 1e-3;  // of a log time, the difference of repeats
  Targets result;
  const auto count = static_cast<double>(values.size());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double x : values) squares += (x - result.mean) * (x - result.mean);
  result.deviation = std::max(std::sqrt(squares / count), kLeast);
  for (double& x : values) x = (x - result.mean) / result.deviation;
  result.values = std::move(values);
  return result;
}

}  // namespace

void Surrogate::fit(std::span<const std::size_t> rows, std::span<const double> log_times,
                    std::uint64_t seed) {
  TC_CHECK(!rows.empty() && rows.size() == log_times.size(), "a time per row");
  rows_.assign(rows.begin(), rows.end());
  trust_ = prior_.empty() ? 0 : trust(rows, log_times);
  std::vector<double> residuals(log_times.begin(), log_times.end());
  for (std::size_t i = 0; i < rows.size() && !prior_.empty(); ++i) {
    residuals[i] -= trust_ * prior_[rows[i]];
  }
  const Targets targets = standardised(std::move(residuals));
  mean_ = targets.mean;
  deviation_ = targets.deviation;
  if (physics_) fit_process(targets.values);
  fit_trees(rows, targets.values, seed);
}

double Surrogate::trust(std::span<const std::size_t> rows,
                        std::span<const double> log_times) const {
  const auto n = static_cast<double>(rows.size());
  double prior = 0, time = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    prior += prior_[rows[i]] / n;
    time += log_times[i] / n;
  }
  double spread = 0, shared = 0, left = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double x = prior_[rows[i]] - prior;
    const double residual = log_times[i] - time - x;
    spread += x * x;
    shared += x * residual;
    left += residual * residual;
  }
  const double noise = left / n + kLeastVariance;
  return std::clamp(1 + shared / (spread + noise / (kTrustDeviation * kTrustDeviation)), 0.0,
                    kMostTrust);
}

void Surrogate::fit_process(std::span<const double> targets) {
  GpPoints points{.squares = {}, .targets = {targets.begin(), targets.end()}};
  for (const std::size_t row : rows_) {
    const std::vector<double> squares = squares_to(row);
    points.squares.insert(points.squares.end(), squares.begin(), squares.end());
  }
  process_.emplace(points, likely_hyper(points));
}

void Surrogate::fit_trees(std::span<const std::size_t> rows, std::span<const double> targets,
                          std::uint64_t seed) {
  learned::GbtTable table{.columns = columns_};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto first = raw_.begin() + static_cast<std::ptrdiff_t>(rows[i] * columns_);
    table.values.insert(table.values.end(), first, first + static_cast<std::ptrdiff_t>(columns_));
    table.targets.push_back(static_cast<float>(targets[i]));
    table.groups.push_back(0);
  }
  std::mt19937_64 engine(seed);
  trees_.clear();
  for (std::size_t tree = 0; tree < kTrees; ++tree) {
    table.weights.assign(rows.size(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) ++table.weights[base::draw(engine, rows.size())];
    trees_.push_back(learned::train_gbt(table, {.columns = columns_}, tree_spec(engine() >> 33)));
  }
}

void Surrogate::predict(std::span<const std::size_t> candidates, std::span<double> means,
                        std::span<double> deviations) const {
  TC_CHECK(!trees_.empty(), "fit() comes first");
  predict_trees(candidates, means, deviations);
  if (process_) {
    std::vector<double> other(candidates.size()), variance(candidates.size());
    predict_process(candidates, other, variance);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double apart = (means[i] - other[i]) / 2;
      deviations[i] = (deviations[i] + variance[i]) / 2 + apart * apart;
      means[i] = (means[i] + other[i]) / 2;
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    means[i] = mean_ + deviation_ * means[i];
    if (!prior_.empty()) means[i] += trust_ * prior_[candidates[i]];
    deviations[i] = deviation_ * std::sqrt(deviations[i]);
  }
}

void Surrogate::predict_trees(std::span<const std::size_t> candidates, std::span<double> means,
                              std::span<double> variances) const {
  std::vector<float> rows, out(candidates.size());
  for (const std::size_t candidate : candidates) {
    const auto first = raw_.begin() + static_cast<std::ptrdiff_t>(candidate * columns_);
    rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(columns_));
  }
  std::ranges::fill(means, 0.0);
  std::ranges::fill(variances, 0.0);
  for (const learned::GbtModel& model : trees_) {
    model.predict(rows, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto value = static_cast<double>(out[i]);
      means[i] += value / kTrees;
      variances[i] += value * value / kTrees;
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    variances[i] = std::max(variances[i] - means[i] * means[i], 0.0);
  }
}

void Surrogate::predict_process(std::span<const std::size_t> candidates, std::span<double> means,
                                std::span<double> variances) const {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const GaussianProcess::Answer answer = process_->predict(squares_to(candidates[i]));
    means[i] = answer.mean;
    variances[i] = answer.variance;
  }
}

}  // namespace tilecast::search
