#include "hybrid/screening_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "hybrid/trials.h"
#include "measured/physics.h"

namespace tilecast::hybrid {
namespace {

using analytical::Bound;
using hwdesc::Device;
using measured::SampleSet;

// The product or convolution of a kernel; nullptr: none.
const ir::Op* product_of(const ir::Kernel& kernel) {
  const auto found = std::ranges::find_if(kernel.ops(), [](const ir::Op& op) {
    return op.opcode == ir::Opcode::kDot || op.opcode == ir::Opcode::kConvolution;
  });
  return found == kernel.ops().end() ? nullptr : &*found;
}

std::string multiplied_dtype(const ir::Kernel& kernel) {
  const ir::Op* product = product_of(kernel);
  const ir::Op& op =
      product != nullptr ? kernel.op(product->operands.front()) : kernel.ops().back();
  return std::string(ir::name(op.shape.dtype));
}

bool is_of_units(Bound bound) {
  return bound == Bound::kMatrix || bound == Bound::kVector || bound == Bound::kTranscendental ||
         bound == Bound::kCrossLane || bound == Bound::kOnChip || bound == Bound::kIssue;
}

std::string question_of(const SampleSet& set, const measured::Sample& sample,
                        const Device& device) {
  return fmt::format("{}\n{}\n{}\n{}", device.name, set.works[sample.work].fingerprint,
                     analytical::to_string(sample.tile), fmt::join(sample.parameters, ","));
}

}  // namespace

std::string SetApart::text() const {
  constexpr std::size_t kShown = 8;
  std::string lines;
  for (std::size_t i = 0; i < rows.size() && i < kShown; ++i) {
    const bool new_set = i == 0 || rows[i].first != rows[i - 1].first;
    lines += new_set
                 ? fmt::format("{}{} line {}", i == 0 ? "" : "; ", rows[i].first, rows[i].second)
                 : fmt::format(", {}", rows[i].second);
  }
  return fmt::format("{} {}: {} rows set apart ({}{}): {}", device, op_class, rows.size(), lines,
                     rows.size() > kShown ? ", ..." : "", reason);
}

double ScreeningRow::error() const {
  return std::log(measured_s / predicted_s);
}

ScreeningRows::ScreeningRows(const analytical::CostModel& prior, std::span<const SampleSet> sets,
                             std::span<const Device> devices, int jobs)
    : prior_(prior), sets_(sets), devices_(devices) {
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const SampleSet& set = sets[s];
    const auto answers = measured::predict(set, prior, devices[s], jobs);
    std::vector<double> light(set.works.size(), -1);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const measured::Sample& sample = set.samples[i];
      const measured::Workload& work = set.works[sample.work];
      const measured::Prediction& answer = answers[i];
      if (!answer.answered || !answer.estimate || !(answer.on_device.value > 0)) continue;
      if (light[sample.work] < 0) {
        light[sample.work] = measured::light_time(work, devices[s]).value;
      }
      rows_.push_back({.set = s,
                       .sample = i,
                       .device = &devices[s],
                       .op_class = work.op_class,
                       .dtype = multiplied_dtype(work.parts.front().kernel),
                       .question = question_of(set, sample, devices[s]),
                       .measured_s = sample.measured.value,
                       .predicted_s = answer.comparable().value,
                       .light_s = light[sample.work],
                       .share = answer.on_device / answer.comparable(),
                       .computes = is_of_units(answer.estimate->bound),
                       .multiplies = product_of(work.parts.front().kernel) != nullptr,
                       .names_schedule =
                           !sample.parameters.empty() || sample.tile != analytical::TileConfig{}});
    }
  }
}

std::map<std::string, std::vector<std::size_t>> ScreeningRows::groups(Key key) const {
  std::map<std::string, std::vector<std::size_t>> result;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].set_apart) result[key(rows_[i])].push_back(i);
  }
  return result;
}

std::vector<double> ScreeningRows::errors(std::span<const std::size_t> rows) const {
  std::vector<double> result;
  for (const std::size_t row : rows) result.push_back(rows_[row].error());
  return result;
}

double ScreeningRows::typical_error(std::span<const std::size_t> rows) const {
  return base::median(errors(rows));
}

void ScreeningRows::set_apart(std::vector<std::size_t> rows, const std::string& reason) {
  if (rows.empty()) return;
  std::ranges::sort(rows);
  const ScreeningRow& first = rows_[rows.front()];
  SetApart apart{.device = first.device->name, .op_class = first.op_class, .reason = reason};
  for (const std::size_t i : rows) {
    ScreeningRow& row = rows_[i];
    row.set_apart = true;
    apart.rows.emplace_back(sets_[row.set].name, sets_[row.set].samples[row.sample].line);
  }
  apart_.push_back(std::move(apart));
}

std::vector<double> ScreeningRows::explained_errors(std::span<const std::size_t> rows) const {
  std::vector<SampleSet> own(sets_.begin(), sets_.end());
  for (SampleSet& set : own) set.samples.clear();
  std::vector<std::size_t> order(rows.begin(), rows.end());  // that of trial_rows
  std::ranges::sort(order);
  for (const std::size_t i : order) {
    const SampleSet& set = sets_[rows_[i].set];
    own[rows_[i].set].samples.push_back(set.samples[rows_[i].sample]);
  }
  const TrialRows trials =
      trial_rows(prior_, own, devices_, learned::ValidateBy::kKernel, /*jobs=*/1);
  const TrialPlan plan = plan_trials(trials, /*folds=*/5, /*seed=*/1);
  std::vector<double> predicted(rows.size(), 0);
  if (plan.base.empty() || trials.examples.rows.size() != order.size()) return predicted;
  const HybridSpec spec = default_hybrid("screening");
  try {
    const std::vector<double> out = predict_trials(spec.candidates.back(), trials, plan.base, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      predicted[i] =
          out[static_cast<std::size_t>(std::ranges::lower_bound(order, rows[i]) - order.begin())];
    }
  } catch (const learned::TooFewRows&) {
    return predicted;  // nothing explains them
  }
  return predicted;
}

Screened ScreeningRows::result() && {
  Screened screened{.sets = {sets_.begin(), sets_.end()}, .apart = std::move(apart_)};
  std::set<std::pair<std::size_t, std::size_t>> dropped;
  for (const ScreeningRow& row : rows_) {
    if (row.set_apart) dropped.emplace(row.set, row.sample);
  }
  for (std::size_t s = 0; s < screened.sets.size() && !dropped.empty(); ++s) {
    std::size_t sample = 0;
    std::erase_if(screened.sets[s].samples, [&](const measured::Sample&) {
      return dropped.contains({s, sample++});
    });
  }
  return screened;
}

}  // namespace tilecast::hybrid
