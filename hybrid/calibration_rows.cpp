#include "hybrid/calibration_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilecast::hybrid {
namespace {

constexpr double kUnknownTile = 0.25;  // twice the standard deviation

}  // namespace

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
      const measured::Work& work = set.works[set.samples[i].work];
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

const measured::Work& CalibrationRows::work(const CalibrationRow& row) const {
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
