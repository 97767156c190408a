#include "hybrid/calibration_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tilecast::hybrid {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;
using measured::SampleSet;

constexpr double kUnknownTile = 0.25;  // weight factor for twice the standard deviation

void keep_rows(std::vector<SampleSet>& sets, std::size_t most) {
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
  // Whether entry i of `count` is among `share` entries spread evenly.
  const auto is_chosen = [](std::size_t i, std::size_t share, std::size_t count) {
    return share >= count || (i + 1) * share / count != i * share / count;
  };
  std::map<std::string, std::size_t> seen;
  std::size_t kernels = 0;
  for (SampleSet& set : sets) {
    std::erase_if(set.samples, [&](const measured::Sample& sample) {
      const std::string& kernel = set.works[sample.work].fingerprint;
      const std::size_t row = seen[kernel]++;
      // With more kernels than rows, some kernels keep none.
      const bool keeps_kernel =
          rows.size() <= most || (row == 0 && is_chosen(kernels++, most, rows.size()));
      return !keeps_kernel || !is_chosen(row, each, rows.at(kernel));
    });
  }
}

}  // namespace

class CalibrationRows::BestTiles final : public analytical::CostModel {
 public:
  explicit BestTiles(const CalibrationRows& rows) : rows_(rows) {}

  [[nodiscard]] std::vector<std::optional<Estimate>> estimate(
      std::span<const KernelQuery> queries, const hwdesc::Device& device) const override {
    std::vector<KernelQuery> asked;
    std::vector<std::size_t> asked_for;  // indices into `queries`
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto known = rows_.tiles_.find(&queries[i].kernel);
      if (queries[i].tile != nullptr || known == rows_.tiles_.end()) {
        asked.push_back(queries[i]);
        asked_for.push_back(i);
        continue;
      }
      for (const TileConfig& tile : known->second) {
        asked.push_back({queries[i].kernel, &tile, queries[i].parameters});
        asked_for.push_back(i);
      }
    }
    std::vector<std::optional<Estimate>> answers = rows_.model_.estimate(asked, device);
    std::vector<std::optional<Estimate>> best(queries.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      std::optional<Estimate>& least = best[asked_for[i]];
      if (answers[i] && (!least || answers[i]->time < least->time)) least = std::move(answers[i]);
    }
    return best;
  }

 private:
  const CalibrationRows& rows_;
};

CalibrationRows::CalibrationRows(std::span<const SampleSet> sets, std::size_t most,
                                 const analytical::CostModel& model, const hwdesc::Device& device,
                                 int jobs)
    : sets_(sets.begin(), sets.end()), model_(model), device_(device), jobs_(jobs) {
  for (SampleSet& set : sets_) {
    programs_ += std::erase_if(set.samples, [&](const measured::Sample& sample) {
      return set.works[sample.work].is_program;
    });
  }
  keep_rows(sets_, most);
  for (const SampleSet& set : sets_) plans_.emplace_back(set);
  std::map<std::string, double> rows_of_kernel;
  bool any_tile = false;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const SampleSet& set = sets_[s];
    const auto answers = plans_[s].predict(model, device, jobs);
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
      any_tile = any_tile || !(set.samples[i].tile == TileConfig{});
    }
  }
  for (CalibrationRow& row : rows_) {
    const bool alone = rows_of_kernel.size() == 1;
    row.group = alone ? fmt::format("{:03} {:08}", row.set, row.sample) : row.kernel;
    row.weight = 1 / std::sqrt(rows_of_kernel.at(row.kernel));
    if (any_tile && sample(row).tile == TileConfig{}) row.weight *= kUnknownTile;
  }
  add_tiles(device);
}

const measured::Sample& CalibrationRows::sample(const CalibrationRow& row) const {
  return sets_[row.set].samples[row.sample];
}

const measured::Workload& CalibrationRows::work(const CalibrationRow& row) const {
  return sets_[row.set].works[sample(row).work];
}

void CalibrationRows::add_tiles(const hwdesc::Device& device) {
  std::vector<KernelQuery> queries;
  std::set<const ir::Kernel*> asked;
  for (const CalibrationRow& row : rows_) {
    for (const measured::WorkloadPart& part : work(row).parts) {
      if (sample(row).tile == TileConfig{} && asked.insert(&part.kernel).second) {
        queries.push_back({part.kernel});
      }
    }
  }
  const std::vector<std::optional<Estimate>> answers = model_.estimate(queries, device);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!answers[i] || answers[i]->tile == TileConfig{}) continue;
    std::vector<TileConfig>& tiles = tiles_[&queries[i].kernel];
    if (std::ranges::find(tiles, answers[i]->tile) == tiles.end()) {
      tiles.push_back(answers[i]->tile);
    }
  }
}

std::vector<double> CalibrationRows::log_errors(const hwdesc::Device& device) const {
  const BestTiles model(*this);
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
