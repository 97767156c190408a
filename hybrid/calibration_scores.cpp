#include "hybrid/calibration_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace tilecast::hybrid {
namespace {

constexpr double kPooledKernels = 3;  // prior weight, in kernels, of the spread among all kernels
constexpr double kLeastNoise = 0.02;  // minimum for a kernel, as no time is known better

// A remaining bias is reported for groups of at least kLeastKernels with a bias above kLeastBias
// and kBeyondNoise standard errors. With some dozens of groups, this happens by chance once in 20
// runs.
constexpr std::size_t kLeastKernels = 4;
constexpr double kLeastBias = 0.02, kBeyondNoise = 3;

struct KernelMean {
  double mean = 0, variance = 0;  // over kernels
  double kernels = 0;             // effective number of kernels
  std::size_t rows = 0, groups = 0;

  // Standard error of the mean.
  [[nodiscard]] double noise(double variance_of_all) const {
    const double n = static_cast<double>(groups);
    const double pooled = (n * variance + kPooledKernels * variance_of_all) / (n + kPooledKernels);
    return std::sqrt(pooled / kernels);
  }
};

struct Value {
  const CalibrationRow* row;
  double value;
};

KernelMean kernel_mean(std::span<const Value> values) {
  struct Sum {
    double weight = 0, value = 0;
  };
  std::map<std::string, Sum> groups;
  Sum all;
  for (const Value& v : values) {
    for (Sum* sum : {&groups[v.row->group], &all}) {
      sum->weight += v.row->weight;
      sum->value += v.row->weight * v.value;
    }
  }
  KernelMean result{.mean = all.value / all.weight, .rows = values.size(), .groups = groups.size()};
  double squares = 0;
  for (const auto& [group, sum] : groups) {
    squares += sum.weight * sum.weight;
    result.variance += sum.weight / all.weight * std::pow(sum.value / sum.weight - result.mean, 2);
  }
  const double n = static_cast<double>(groups.size());
  if (n > 1) result.variance *= n / (n - 1);
  result.kernels = all.weight * all.weight / squares;
  return result;
}

HeldOutScore score(const std::string& group, std::span<const Value> before,
                   std::span<const Value> change, double variance_of_all) {
  const KernelMean moved = kernel_mean(change);
  const double error = kernel_mean(before).mean;
  return {.group = group,
          .rows = moved.rows,
          .kernels = moved.groups,
          .before = error,
          .after = error + moved.mean,
          .noise = std::max(moved.noise(variance_of_all), kLeastNoise / std::sqrt(moved.kernels))};
}

// A class, whole or limited to a range of times.
struct Part {
  std::string op_class, text;
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
};

std::vector<Part> parts_of(const std::string& op_class) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kSizes{
      {{10e-6, "10 us"}, {100e-6, "100 us"}, {1e-3, "1 ms"}}};
  std::vector<Part> parts = {{op_class, op_class}};
  for (const auto& [time, text] : kSizes) {
    parts.push_back(
        {.op_class = op_class, .text = fmt::format("{} below {}", op_class, text), .to_s = time});
    parts.push_back(
        {.op_class = op_class, .text = fmt::format("{} above {}", op_class, text), .from_s = time});
  }
  return parts;
}

}  // namespace

std::vector<HeldOutScore> held_out_scores(const CalibrationRows& rows,
                                          std::span<const HeldOutRow> held_out) {
  struct Group {
    std::vector<Value> before, change;
  };
  Group all;
  std::map<std::string, Group> groups;
  const bool several = rows.sets().size() > 1;
  for (const HeldOutRow& held : held_out) {
    const CalibrationRow& row = rows.rows()[held.row];
    const double before = std::abs(held.before), change = std::abs(held.after) - before;
    std::vector<Group*> of = {&all, &groups["class " + row.op_class]};
    if (several) of.push_back(&groups["set " + rows.sets()[row.set].name]);
    for (Group* group : of) {
      group->before.push_back({&row, before});
      group->change.push_back({&row, change});
    }
  }
  const double variance = kernel_mean(all.change).variance;
  std::vector<HeldOutScore> scores = {score("all", all.before, all.change, variance)};
  for (const auto& [name, group] : groups) {
    scores.push_back(score(name, group.before, group.change, variance));
  }
  return scores;
}

std::string what_is_left(const CalibrationRows& rows, std::span<const HeldOutRow> held_out,
                         bool fitted) {
  std::map<std::string, std::vector<Value>> classes;
  for (const HeldOutRow& held : held_out) {
    const CalibrationRow& row = rows.rows()[held.row];
    classes[row.op_class].push_back({&row, fitted ? held.after : held.before});
  }
  std::string text = "no class or size is still off beyond noise";
  double most = 0;
  for (const auto& [op_class, values] : classes) {
    for (const Part& part : parts_of(op_class)) {
      std::vector<Value> own;
      std::ranges::copy_if(values, std::back_inserter(own), [&](const Value& v) {
        return v.row->measured_s >= part.from_s && v.row->measured_s < part.to_s;
      });
      if (own.empty()) continue;
      const KernelMean off = kernel_mean(own);
      const double explained = off.kernels * off.mean * off.mean;
      if (off.groups < kLeastKernels || std::abs(off.mean) < kLeastBias || explained <= most ||
          std::abs(off.mean) < kBeyondNoise * off.noise(off.variance)) {
        continue;
      }
      most = explained;
      text = fmt::format("{} is still predicted {:.1f} % too {} ({} kernels)", part.text,
                         100 * std::abs(std::expm1(off.mean)), off.mean < 0 ? "fast" : "slow",
                         off.groups);
    }
  }
  return text;
}

}  // namespace tilecast::hybrid
