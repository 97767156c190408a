#include "hybrid/calibration_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;
using measured::SampleSet;

constexpr double kUnknownTile = 0.25;  // twice the standard deviation

}  // namespace

std::vector<SampleSet> choose_rows(std::span<const SampleSet> sets, std::size_t most) {
  std::map<std::string, std::size_t> rows;  // by kernel
  std::size_t each = 0;                     // rows that a kernel keeps at most
  for (const SampleSet& set : sets) {
    for (const measured::Sample& sample : set.samples) {
      each = std::max(each, ++rows[set.works[sample.work].fingerprint]);
    }
  }
  const auto kept = [&] {
    std::size_t sum = 0;
    for (const auto& [kernel, count] : rows) sum += std::min(count, each);
    return sum;
  };
  while (each > 1 && kept() > most) --each;
  // Whether entry i of `count` is one of `share` spread evenly over them.
  const auto is_chosen = [](std::size_t i, std::size_t share, std::size_t count) {
    return share >= count || (i + 1) * share / count != i * share / count;
  };
  std::vector<SampleSet> chosen(sets.begin(), sets.end());
  std::map<std::string, std::size_t> seen;
  std::size_t kernels = 0;
  for (SampleSet& set : chosen) {
    std::erase_if(set.samples, [&](const measured::Sample& sample) {
      const std::string& kernel = set.works[sample.work].fingerprint;
      const std::size_t row = seen[kernel]++;
      // With more kernels than rows, some kernels keep none.
      const bool keeps_kernel =
          rows.size() <= most || (row == 0 && is_chosen(kernels++, most, rows.size()));
      return !keeps_kernel || !is_chosen(row, each, rows.at(kernel));
    });
  }
  return chosen;
}

FixedTiles::FixedTiles(const analytical::CostModel& model, std::span<const SampleSet> sets,
                       const hwdesc::Device& device)
    : model_(model) {
  std::vector<KernelQuery> queries;
  for (const SampleSet& set : sets) {
    std::vector<bool> asked(set.works.size(), false);
    for (const measured::Sample& sample : set.samples) {
      if (asked[sample.work] || !(sample.tile == TileConfig{})) continue;
      asked[sample.work] = true;
      for (const measured::WorkloadPart& part : set.works[sample.work].parts) {
        queries.push_back({part.kernel});
      }
    }
  }
  const std::vector<std::optional<Estimate>> answers = model.estimate(queries, device);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (answers[i] && !(answers[i]->tile == TileConfig{})) {
      tiles_.emplace(&queries[i].kernel, answers[i]->tile);
    }
  }
}

std::vector<std::optional<Estimate>> FixedTiles::estimate(std::span<const KernelQuery> queries,
                                                          const hwdesc::Device& device) const {
  std::vector<KernelQuery> with_tiles;
  with_tiles.reserve(queries.size());
  for (const KernelQuery& query : queries) {
    const auto tile = tiles_.find(&query.kernel);
    const bool fixed = query.tile == nullptr && tile != tiles_.end();
    with_tiles.push_back({query.kernel, fixed ? &tile->second : query.tile});
  }
  std::vector<std::optional<Estimate>> answers = model_.estimate(with_tiles, device);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] || with_tiles[i].tile == queries[i].tile) continue;
    answers[i] = std::move(model_.estimate({&queries[i], 1}, device).front());  // it spills
  }
  return answers;
}

CalibrationRows::CalibrationRows(std::span<const measured::SampleSet> sets,
                                 const analytical::CostModel& model, const hwdesc::Device& device,
                                 int jobs)
    : sets_(sets), jobs_(jobs) {
  std::map<std::string, double> rows_of_kernel;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const measured::SampleSet& set = sets[s];
    const auto answers = plans_.emplace_back(set).predict(model, device, jobs);
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      if (!answers[i].answered || !(answers[i].comparable().value > 0)) {
        ++unanswered_;
        continue;
      }
      const measured::Workload& work = set.works[set.samples[i].work];
      rows_.push_back({.set = s,
                       .sample = i,
                       .kernel = work.fingerprint,
                       .op_class = work.op_class,
                       .measured_s = set.samples[i].measured.value});
      rows_of_kernel[work.fingerprint] += 1;
    }
  }
  const auto names_tile = [&](const CalibrationRow& row) {
    return !(sample(row).tile == analytical::TileConfig{});
  };
  const bool any_tile = std::ranges::any_of(rows_, names_tile);
  for (CalibrationRow& row : rows_) {
    row.weight = 1 / std::sqrt(rows_of_kernel.at(row.kernel));
    if (any_tile && !names_tile(row)) row.weight *= kUnknownTile;
  }
}

const measured::Sample& CalibrationRows::sample(const CalibrationRow& row) const {
  return sets_[row.set].samples[row.sample];
}

const measured::Workload& CalibrationRows::work(const CalibrationRow& row) const {
  return sets_[row.set].works[sample(row).work];
}

std::vector<double> CalibrationRows::log_errors(const analytical::CostModel& model,
                                                const hwdesc::Device& device) const {
  std::vector<std::vector<measured::Prediction>> answers;
  for (const measured::PredictionPlan& plan : plans_) {
    answers.push_back(plan.predict(model, device, jobs_));
  }
  std::vector<double> errors;
  errors.reserve(rows_.size());
  for (const CalibrationRow& row : rows_) {
    const double predicted = answers[row.set][row.sample].comparable().value;
    errors.push_back(std::log(predicted / row.measured_s));
  }
  return errors;
}

}  // namespace tilecast::hybrid
