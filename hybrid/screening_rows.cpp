#include "hybrid/screening_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.h"
#include "measured/physics.h"

namespace tilecast::hybrid {
namespace {

using analytical::Bound;
using hwdesc::Device;
using measured::SampleSet;

constexpr std::size_t kNeighbours = 5;
constexpr double kShareWeight = 3;  // a share of 1 weighs like a factor of 20 in time

// The product or convolution of a kernel; nullptr if none.
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

// Analytical terms of a kernel: its log time, and the share of it that each resource is busy.
std::vector<double> terms_of(const analytical::Estimate& estimate) {
  std::vector<double> terms = {std::log(estimate.time.value)};
  for (const Seconds busy : estimate.bounds) {
    terms.push_back(kShareWeight * (busy / estimate.time));
  }
  return terms;
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
    : sets_(sets) {
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
                       .terms = terms_of(*answer.estimate),
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
  std::vector<double> explained;
  for (const std::size_t i : rows) {
    std::vector<std::pair<double, double>> others;  // distance, error
    for (const std::size_t j : rows) {
      if (rows_[j].question == rows_[i].question) continue;
      double distance = 0;
      for (std::size_t t = 0; t < rows_[i].terms.size(); ++t) {
        distance += std::abs(rows_[i].terms[t] - rows_[j].terms[t]);
      }
      others.emplace_back(distance, rows_[j].error());
    }
    std::ranges::sort(others);
    others.resize(std::min(others.size(), kNeighbours));
    double sum = 0;
    for (const auto& [distance, error] : others) sum += error;
    explained.push_back(others.empty() ? 0 : sum / static_cast<double>(others.size()));
  }
  return explained;
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
