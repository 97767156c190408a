#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/parallel.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "measured/samples.h"
#include "measured/total_interval.h"

namespace tilecast::measured {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::size_t kChunk = 64;  // queries per batch

// The part of a query other than the kernel; points into a sample.
struct Asked {
  const TileConfig* tile = nullptr;
  std::span<const float> parameters;
};

struct AskedLess {
  bool operator()(const Asked& a, const Asked& b) const {
    if (*a.tile != *b.tile) return *a.tile < *b.tile;
    // Compared by bits, because NaN means that a row has no such parameter.
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    return std::ranges::lexicographical_compare(a.parameters, b.parameters, {}, bits, bits);
  }
};

struct Question {
  std::size_t kernel = 0;
  Asked asked;
};

// Numbers distinct queries in order of appearance.
class Questions {
 public:
  std::size_t number_of(const ir::Kernel& kernel, const Sample& sample) {
    const std::size_t k = kernel_number(kernel);
    const Asked asked{&sample.tile, sample.parameters};
    const auto [known, is_new] = by_asked_[k].emplace(asked, asked_.size());
    if (is_new) asked_.push_back({k, asked});
    return known->second;
  }
  [[nodiscard]] const std::vector<Question>& asked() const { return asked_; }
  [[nodiscard]] const ir::Kernel& kernel(std::size_t number) const { return *kernels_[number]; }

 private:
  std::size_t kernel_number(const ir::Kernel& kernel) {
    if (const auto seen = by_address_.find(&kernel); seen != by_address_.end()) return seen->second;
    const auto [known, is_new] = by_print_.emplace(ir::fingerprint(kernel), kernels_.size());
    if (is_new) {
      kernels_.push_back(&kernel);
      by_asked_.emplace_back();
    }
    by_address_.emplace(&kernel, known->second);
    return known->second;
  }

  std::vector<Question> asked_;
  std::vector<const ir::Kernel*> kernels_;
  std::vector<std::map<Asked, std::size_t, AskedLess>> by_asked_;  // by kernel
  std::map<ir::Fingerprint, std::size_t> by_print_;
  std::unordered_map<const ir::Kernel*, std::size_t> by_address_;
};

std::vector<std::optional<Estimate>> ask(std::span<const KernelQuery> queries,
                                         const analytical::CostModel& model,
                                         const hwdesc::Device& device, int jobs) {
  std::vector<std::optional<Estimate>> answers(queries.size());
  const std::size_t chunks = (queries.size() + kChunk - 1) / kChunk;
  base::parallel_for(chunks, jobs, [&](std::size_t chunk) {
    const std::size_t first = chunk * kChunk;
    const std::size_t count = std::min(kChunk, queries.size() - first);
    std::vector<std::optional<Estimate>> some =
        model.estimate(queries.subspan(first, count), device);
    std::move(some.begin(), some.end(), answers.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return answers;
}

// The 90 % interval of the device time. Parts with the same kernel and answer have the same error,
// so they are merged as launches. A single kernel keeps exactly its own interval.
std::optional<Interval> interval_of(std::vector<LaunchedEstimate> parts) {
  const auto is_corrected = [](const LaunchedEstimate& part) {
    return part.estimate->correction.has_value();
  };
  if (std::ranges::none_of(parts, is_corrected)) return std::nullopt;
  std::ranges::stable_sort(parts, std::less<>(), &LaunchedEstimate::estimate);
  std::vector<LaunchedEstimate> kernels;
  for (const LaunchedEstimate& part : parts) {
    if (!kernels.empty() && kernels.back().estimate == part.estimate) {
      kernels.back().launches += part.launches;
    } else {
      kernels.push_back(part);
    }
  }
  if (kernels.size() > 1) return total_interval(kernels);
  const auto& [estimate, launches] = kernels.front();
  return Interval{.low = estimate->correction->low.value * launches,
                  .high = estimate->correction->high.value * launches};
}

}  // namespace

PredictionPlan::PredictionPlan(const SampleSet& samples) : samples_(&samples) {
  Questions questions;
  first_term_.push_back(0);
  for (const Sample& sample : samples.samples) {
    for (const WorkloadPart& part : samples.works[sample.work].parts) {
      terms_.push_back({questions.number_of(part.kernel, sample), part.launches});
    }
    first_term_.push_back(terms_.size());
  }
  const std::vector<Question>& asked = questions.asked();
  std::vector<std::size_t> order(asked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return asked[i].kernel; });
  std::vector<std::size_t> place(asked.size());
  for (const std::size_t i : order) {
    place[i] = queries_.size();
    const auto& [tile, parameters] = asked[i].asked;
    queries_.push_back({questions.kernel(asked[i].kernel), *tile == TileConfig{} ? nullptr : tile,
                        parameters, samples.manifest.writer, samples.manifest.timed});
  }
  for (Term& term : terms_) term.query = place[term.query];
}

std::vector<Prediction> PredictionPlan::predict(const analytical::CostModel& model,
                                                const hwdesc::Device& device, int jobs) const {
  const std::vector<std::optional<Estimate>> answers = ask(queries_, model, device, jobs);
  std::vector<Prediction> predictions(samples_->samples.size());
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::span<const Term> terms(terms_.data() + first_term_[i],
                                      first_term_[i + 1] - first_term_[i]);
    const bool answered =
        std::ranges::all_of(terms, [&](const Term& t) { return answers[t.query].has_value(); });
    if (!answered) continue;
    const Sample& sample = samples_->samples[i];
    Prediction& prediction = predictions[i];
    prediction.answered = true;
    std::vector<LaunchedEstimate> launched;
    for (const Term& term : terms) {
      prediction.on_device += answers[term.query]->time * term.launches;
      launched.push_back({&*answers[term.query], term.launches});
    }
    if (terms.size() == 1) prediction.estimate = answers[terms[0].query];
    if (sample.holds_dispatch) {
      prediction.dispatch =
          dispatch_of(samples_->works[sample.work].op_class, samples_->manifest, device);
    }
    prediction.interval = interval_of(std::move(launched));
    if (!prediction.interval) continue;
    if (!(prediction.on_device.value > 0)) continue;
    // The interval is relative to the time including dispatch, as it was learned (hybrid/bands.h).
    const double whole = prediction.comparable() / prediction.on_device;
    prediction.interval->low *= whole;
    prediction.interval->high *= whole;
  }
  return predictions;
}

std::vector<Prediction> predict(const SampleSet& samples, const analytical::CostModel& model,
                                const hwdesc::Device& device, int jobs) {
  return PredictionPlan(samples).predict(model, device, jobs);
}

Seconds dispatch_of(const std::string& op_class, const Manifest& manifest,
                    const hwdesc::Device& device) {
  const auto& fitted = device.calibration.dispatch;
  if (const auto found = fitted.find(op_class); found != fitted.end()) return found->second;
  const auto& floors = manifest.dispatch;
  if (const auto found = floors.find(op_class); found != floors.end()) return found->second;
  return device.dispatch.host;
}

}  // namespace tilecast::measured
