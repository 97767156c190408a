#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kBounds = analytical::kBoundCount;
using BoundValues = std::array<double, kBounds>;

constexpr BoundValues missing_bounds() {
  BoundValues values{};
  for (double& value : values) value = kMissing;
  return values;
}

struct PriorFacts {
  double time = kMissing, speed_of_light = kMissing, next_time = kMissing, next_share = kMissing;
  double iterations = kMissing, hbm_read = kMissing, hbm_write = kMissing, flops = kMissing;
  double scratchpad_used = kMissing, utilisation = kMissing, bound = kMissing;
  BoundValues bounds = missing_bounds(), shares = missing_bounds();
};

PartName bound_part(std::size_t part) {
  const std::string name(analytical::name(static_cast<analytical::Bound>(part)));
  return {name, name};
}

using Rows = std::span<const ColumnRow<PriorFacts>>;

constexpr auto kRows = std::to_array<ColumnRow<PriorFacts>>({
    column<&PriorFacts::time>("prior.time", "s", "Time the analytical model answers."),
    column<&PriorFacts::speed_of_light>("prior.speed_of_light", "s",
                                        "Time no implementation on this machine can beat."),
    column<&PriorFacts::next_time>("prior.next_time", "s",
                                   "Analytical time if the resource that bounds it were removed."),
    column<&PriorFacts::next_share>("prior.next_share", "1",
                                    "prior.next_time over prior.time: how alone the bound is."),
    column<&PriorFacts::iterations>("prior.iterations", "1",
                                    "Iterations of the tile loop in the analytical model."),
    column<&PriorFacts::hbm_read>(
        "prior.hbm_read", "B", "Bytes read from main memory, padding and repeated reads included."),
    column<&PriorFacts::hbm_write>("prior.hbm_write", "B",
                                   "Bytes written to main memory, padding included."),
    column<&PriorFacts::flops>("prior.flops", "1",
                               "Useful operations as the analytical model counts them."),
    column<&PriorFacts::scratchpad_used>("prior.scratchpad_used", "B",
                                         "Bytes of the innermost memory the tile takes."),
    column<&PriorFacts::utilisation>("prior.utilisation", "1",
                                     "prior.speed_of_light over prior.time."),
    column<&PriorFacts::bound>(
        "prior.bound", "1",
        "Number of the resource that bounds the time, in the order of prior.busy."),
    column<&PriorFacts::bounds>("prior.busy", "s",
                                "Seconds one resource is busy, or adds, over the whole kernel",
                                bound_part),
    column<&PriorFacts::shares>("prior.share", "1", "The same, over prior.time", bound_part),
});

PriorFacts facts_of_estimate(const analytical::Estimate& estimate) {
  PriorFacts facts;
  facts.time = estimate.time.value;
  facts.speed_of_light = estimate.speed_of_light.value;
  facts.next_time = estimate.next_time.value;
  facts.next_share = ratio(facts.next_time, facts.time);
  facts.iterations = estimate.iterations;
  facts.hbm_read = estimate.hbm_read.value;
  facts.hbm_write = estimate.hbm_write.value;
  facts.flops = estimate.flops.value;
  facts.scratchpad_used = estimate.scratchpad_used.value;
  facts.utilisation = estimate.utilisation;
  facts.bound = static_cast<double>(estimate.bound);
  for (std::size_t i = 0; i < kBounds; ++i) {
    facts.bounds[i] = estimate.bounds[i].value;
    facts.shares[i] = ratio(facts.bounds[i], facts.time);
  }
  return facts;
}

}  // namespace

void prior_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kRows), FeatureGroup::kPrior, columns);
}

std::size_t write_prior(const std::optional<analytical::Estimate>& prior, std::span<float> out) {
  return write_columns(Rows(kRows), prior ? facts_of_estimate(*prior) : PriorFacts{}, out);
}

}  // namespace tilecast::learned
