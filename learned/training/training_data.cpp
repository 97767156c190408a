#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "learned/training/fit.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kRowsTogether = 256;  // rows per piece of work

// `rows` are all on one device.
void extract_run(const TableFeatures& features, const Examples& examples,
                 std::span<const std::size_t> rows, std::span<float> out) {
  std::vector<analytical::KernelQuery> queries;
  std::vector<std::optional<analytical::Estimate>> priors;
  for (const std::size_t row : rows) {
    queries.push_back(examples.shown(row));
    if (features.needs_prior()) priors.push_back(examples.priors[row]);
  }
  features.extract(queries, *examples.rows[rows.front()].device, priors, out);
}

}  // namespace

std::unique_ptr<Fitter> make_fitter(const LearnerSpec& spec, const Examples& examples,
                                    const TrainValidation& split, int threads) {
  return spec.kind == LearnerKind::kXgboost ? make_tree_fitter(spec, examples, split, threads)
                                            : make_network_fitter(spec, examples, split, threads);
}

Vocabulary vocabulary_of(const LearnerSpec& spec, const Examples& examples,
                         std::span<const std::size_t> rows) {
  if (!spec.reads_text()) return {};
  TokenCounts counts;
  for (const std::size_t row : rows) {
    counts.add(examples.shown(row), *examples.rows[row].device, spec.text);
  }
  return {spec.text, counts};
}

std::vector<float> feature_rows(const TableFeatures& features, const Examples& examples,
                                std::span<const std::size_t> rows, int threads) {
  TC_CHECK(!features.needs_prior() || examples.priors.size() == examples.rows.size(),
           "examples without the priors that features need");
  const std::size_t width = features.width();
  std::vector<float> values(rows.size() * width);
  if (width == 0) return values;
  const auto runs = device_runs(examples, rows, kRowsTogether);
  base::parallel_for(runs.size(), threads, [&](std::size_t run) {
    const auto [first, end] = runs[run];
    extract_run(features, examples, rows.subspan(first, end - first),
                std::span(values).subspan(first * width, (end - first) * width));
  });
  return values;
}

Standardisation standardisation_of(const Examples& examples, std::span<const std::size_t> rows) {
  TC_CHECK(!rows.empty(), "no rows to train on");
  double whole = 0;
  for (const std::size_t row : rows) whole += examples.rows[row].weight;
  Standardisation target{.mean = 0, .deviation = 0};
  for (const std::size_t row : rows) {
    target.mean += examples.rows[row].weight * examples.rows[row].target / whole;
  }
  for (const std::size_t row : rows) {
    const double off = examples.rows[row].target - target.mean;
    target.deviation += examples.rows[row].weight * off * off / whole;
  }
  constexpr double kEqualTimes = 1e-9;  // in log(seconds)
  target.deviation = std::sqrt(target.deviation);
  if (target.deviation < kEqualTimes) target.deviation = 1;
  return target;
}

std::vector<float> standard_targets(const Examples& examples, std::span<const std::size_t> rows,
                                    const Standardisation& target) {
  std::vector<float> result;
  for (const std::size_t row : rows) {
    result.push_back(
        static_cast<float>((examples.rows[row].target - target.mean) / target.deviation));
  }
  return result;
}

std::vector<float> row_weights(const Examples& examples, std::span<const std::size_t> rows) {
  std::vector<float> weights;
  for (const std::size_t row : rows) {
    weights.push_back(static_cast<float>(examples.rows[row].weight));
  }
  if (std::ranges::all_of(weights, [](float weight) { return weight == 1; })) weights.clear();
  return weights;
}

std::vector<std::size_t> joined(std::span<const std::size_t> first,
                                std::span<const std::size_t> second) {
  std::vector<std::size_t> rows(first.begin(), first.end());
  rows.insert(rows.end(), second.begin(), second.end());
  return rows;
}

std::vector<std::size_t> by_kernel(const Examples& examples, std::span<const std::size_t> rows) {
  std::vector<std::size_t> order(rows.begin(), rows.end());
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return examples.rows[row].kernel; });
  return order;
}

}  // namespace tilecast::learned
