#include "learned/training/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "measured/splits.h"

namespace tilecast::learned {
namespace {

using analytical::KernelQuery;

constexpr std::size_t kPriorsTogether = 64;  // queries per call of the analytical model

class Numbers {
 public:
  explicit Numbers(std::vector<std::string>& names) : names_(names) {}

  std::uint32_t of(const std::string& key, const std::string& name) {
    const auto [known, is_new] = numbers_.emplace(key, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return known->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t> numbers_;
};

bool is_one_kernel(const measured::Workload& work) {
  return work.parts.size() == 1 && work.parts.front().launches == 1;
}

// The unmeasured dispatch contained in the row's time.
double dispatch_seconds(const measured::Sample& sample, const measured::SampleSet& samples,
                        const hwdesc::Device& device) {
  if (!sample.holds_dispatch) return 0;
  const std::string& op_class = samples.works[sample.work].op_class;
  return measured::dispatch_of(op_class, samples.manifest, device).value;
}

std::vector<std::size_t> numbered(std::size_t count) {
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

void estimate_priors(const analytical::CostModel& model, Examples& examples, int jobs) {
  examples.priors.resize(examples.rows.size());
  const auto runs = device_runs(examples, numbered(examples.rows.size()), kPriorsTogether);
  base::parallel_for(runs.size(), jobs, [&](std::size_t run) {
    const auto [first, end] = runs[run];
    auto answers =
        model.estimate(std::span<const KernelQuery>(examples.queries).subspan(first, end - first),
                       *examples.rows[first].device);
    std::ranges::move(answers, examples.priors.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

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

// `dispatch`: seconds, by row.
void weigh(Examples& examples, std::span<const double> dispatch) {
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    Example& row = examples.rows[i];
    const bool has_prior = !examples.priors.empty() && examples.priors[i];
    const double on_device = has_prior ? examples.priors[i]->time.value : std::exp(row.target);
    const double share = std::max(kLeastShare, on_device / (on_device + dispatch[i]));
    row.weight = dispatch[i] > 0 ? share * share : 1;
  }
}

// The target with the unit of the sets that have the quantity.
Target known_target(const Target& target, std::span<const measured::SampleSet> sets) {
  if (target.is_time()) return {};
  Target known = target;
  known.unit.clear();
  std::vector<std::string_view> names{"time", "residual"};
  for (const measured::SampleSet& set : sets) {
    for (const measured::Quantity& each : set.manifest.quantities) names.push_back(each.name);
    const measured::Quantity* quantity = set.manifest.quantity(target.quantity);
    if (quantity == nullptr) continue;
    if (!known.unit.empty() && known.unit != quantity->unit) {
      throw Error(fmt::format("target {}: got it in {} and, in set {}, in {}; expected one unit",
                              target.quantity, known.unit, set.name, quantity->unit));
    }
    known.unit = quantity->unit;
    known.count = quantity->count;
  }
  if (!known.unit.empty()) return known;
  const std::string near = base::nearest(target.quantity, names);
  throw Error(fmt::format("target {}: no set has this quantity; {}", target.quantity,
                          near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                       : fmt::format("did you mean '{}'?", near)));
}

// The target of a timed sample; appends its dispatch to `dispatch`.
std::optional<double> log_time(const measured::SampleSet& set, const measured::Sample& sample,
                               const hwdesc::Device& device, Examples& examples,
                               std::vector<double>& dispatch) {
  if (std::isnan(sample.measured.value)) return std::nullopt;
  dispatch.push_back(dispatch_seconds(sample, set, device));
  const double least = kLeastShare * sample.measured.value;
  const double seconds = sample.measured.value - dispatch.back();
  if (seconds < least) ++examples.below_dispatch;
  return std::log(std::max(seconds, least));
}

// The target value in the learner's scale.
std::optional<double> quantity_of(const measured::SampleSet& set, const measured::Sample& sample,
                                  const Target& target) {
  const measured::Quantity* quantity = set.manifest.quantity(target.quantity);
  if (quantity == nullptr) return std::nullopt;
  const double value =
      sample.quantities.at(static_cast<std::size_t>(quantity - set.manifest.quantities.data()));
  if (std::isnan(value)) return std::nullopt;
  const double taught = scaled(target, value);
  if (!std::isnan(taught)) return taught;
  throw Error(
      fmt::format("set {}, line {}: {} is {}, which has no logarithm; expected "
                  "target_scale: identity",
                  set.name, sample.line, target.quantity, value));
}

std::vector<std::string> keys_of(const Examples& examples, ValidateBy by) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < examples.rows.size(); ++i) {
    const Example& row = examples.rows[i];
    const std::size_t key = by == ValidateBy::kFamily   ? row.family
                            : by == ValidateBy::kKernel ? row.kernel
                                                        : i;
    keys.push_back(fmt::format("{:010}", key));
  }
  return keys;
}

std::size_t distinct(std::vector<std::string> keys) {
  std::ranges::sort(keys);
  return static_cast<std::size_t>(std::unique(keys.begin(), keys.end()) - keys.begin());
}

}  // namespace

KernelQuery Examples::shown(std::size_t row) const {
  return priors.empty() ? queries[row] : analytical::with_tile_of(priors[row], queries[row]);
}

Examples Examples::subset(std::span<const std::size_t> chosen) const {
  Examples result{.kernels = kernels,
                  .families = families,
                  .parameter_names = parameter_names,
                  .target = target};
  for (const std::size_t row : chosen) {
    result.rows.push_back(rows.at(row));
    result.queries.push_back(queries.at(row));
    if (!priors.empty()) result.priors.push_back(priors.at(row));
  }
  return result;
}

Examples make_examples(std::span<const measured::SampleSet> sets,
                       std::span<const hwdesc::Device> devices,
                       const analytical::CostModel& prior_model, bool with_priors, int jobs,
                       const Target& target) {
  TC_CHECK(sets.size() == devices.size(), "one device per set");
  Examples examples{.target = known_target(target, sets)};
  Numbers kernels(examples.kernels), families(examples.families);
  std::vector<double> dispatch;  // seconds, by row
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const measured::SampleSet& set = sets[s];
    examples.parameter_names.push_back(set.parameter_names);
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      const measured::Sample& sample = set.samples[i];
      const measured::Workload& work = set.works[sample.work];
      if (!is_one_kernel(work)) {
        ++examples.programs;
        continue;
      }
      const std::optional<double> taught =
          target.is_time() ? log_time(set, sample, devices[s], examples, dispatch)
                           : quantity_of(set, sample, examples.target);
      if (!taught) {
        ++examples.unlabelled;
        continue;
      }
      const std::string& family = work.family.empty() ? work.name : work.family;
      examples.rows.push_back(
          {.set = s,
           .sample = i,
           .device = &devices[s],
           .target = *taught,
           .kernel = kernels.of(work.fingerprint + '\n' + devices[s].name, work.name),
           .family = families.of(family, family)});
      const bool has_tile = sample.tile != analytical::TileConfig{};
      examples.queries.push_back({.kernel = work.parts.front().kernel,
                                  .tile = has_tile ? &sample.tile : nullptr,
                                  .parameters = sample.parameters,
                                  .writer = set.manifest.writer,
                                  .timed = set.manifest.timed});
    }
  }
  if (with_priors) estimate_priors(prior_model, examples, jobs);
  if (target.is_time()) weigh(examples, dispatch);
  return examples;
}

std::vector<std::pair<std::size_t, std::size_t>> device_runs(const Examples& examples,
                                                             std::span<const std::size_t> chosen,
                                                             std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t first = 0, end = 0; first < chosen.size(); first = end) {
    const hwdesc::Device* device = examples.rows[chosen[first]].device;
    while (end < chosen.size() && end < first + most &&
           examples.rows[chosen[end]].device == device) {
      ++end;
    }
    runs.emplace_back(first, end);
  }
  return runs;
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

TrainValidation split_validation(const Examples& examples, ValidateBy by, double share,
                                 std::uint64_t seed) {
  TrainValidation result{.by = by};
  if (share == 0 || examples.rows.size() < 2) {
    result.train = numbered(examples.rows.size());
    return result;
  }
  std::vector<std::string> keys = keys_of(examples, result.by);
  if (result.by == ValidateBy::kFamily && distinct(keys) < 3) {
    keys = keys_of(examples, result.by = ValidateBy::kKernel);
  }
  if (result.by == ValidateBy::kKernel && distinct(keys) < 2) {
    keys = keys_of(examples, result.by = ValidateBy::kRow);
  }
  measured::Split split = measured::held_out(keys, share, seed);
  result.train = std::move(split.fit);
  result.validation = std::move(split.score);
  return result;
}

}  // namespace tilecast::learned
