// Intervals of programs on real measurements: the kernels of each program are held out in turn, a
// hybrid is fitted to the others, and sums of held-out kernels are compared with the intervals of
// the model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "hybrid/hybrid_fit.h"
#include "measured/total_interval.h"
#include "tests/support/folders.h"

namespace tilecast::hybrid {
namespace {

using measured::SampleSet;

const std::string kSet = support::source_dir().string() + "/validation/measured/host_fusion.zip";
constexpr std::size_t kKernels = 12, kDraws = 20;  // kernels per program; draws per family

struct Counts {
  double kernels = 0, kernels_inside = 0, programs = 0, programs_inside = 0;
};

std::vector<SampleSet> with_family(const SampleSet& set, const std::string& family, bool of_it) {
  std::vector<SampleSet> result{set};
  std::erase_if(result.front().samples, [&](const measured::Sample& sample) {
    return (set.works[sample.work].family == family) != of_it;
  });
  return result;
}

void count_kernels(const SampleSet& held_out, const std::vector<measured::Prediction>& predictions,
                   Counts& counts) {
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (!predictions[i].interval) continue;
    const double measured = held_out.samples[i].measured.value;
    counts.kernels += 1;
    counts.kernels_inside +=
        measured >= predictions[i].interval->low && measured <= predictions[i].interval->high;
  }
}

// Sums of random kernels of the held-out program.
void count_programs(const SampleSet& held_out, const std::vector<measured::Prediction>& predictions,
                    Counts& counts) {
  std::mt19937_64 random(3);
  for (std::size_t draw = 0; draw < kDraws && predictions.size() >= kKernels; ++draw) {
    double measured = 0;
    std::vector<measured::LaunchedEstimate> parts;
    while (parts.size() < kKernels) {
      const std::size_t i = random() % predictions.size();
      if (!predictions[i].estimate) continue;
      measured += held_out.samples[i].measured.value;
      parts.push_back({&*predictions[i].estimate, 1});
    }
    const auto interval = measured::total_interval(parts);
    ASSERT_TRUE(interval.has_value());
    counts.programs += 1;
    counts.programs_inside += measured >= interval->low && measured <= interval->high;
  }
}

TEST(HostTotals, KernelsAndSumsOfKernelsAreInsideTheirIntervals) {
  const measured::MeasurementSet measured = measured::read_measurement_set(kSet);
  const hwdesc::Device device = hwdesc::load_device(std::string(kSet) + "/host.yaml");
  const SampleSet set = measured::make_samples(measured, device, {.jobs = 2});
  std::set<std::string> families;
  for (const measured::Workload& work : set.works) families.insert(work.family);
  const analytical::AnalyticalModel prior;
  Counts counts;
  for (const std::string& family : families) {
    const auto others = with_family(set, family, false), held_out = with_family(set, family, true);
    FittedHybrid fitted =
        fit_hybrid(prior, {.name = "hybrid"}, others, std::span(&device, 1), {.jobs = 2});
    const HybridModel model(prior, std::move(fitted.parts));
    const auto predictions = measured::predict(held_out.front(), model, device);
    count_kernels(held_out.front(), predictions, counts);
    count_programs(held_out.front(), predictions, counts);
  }
  const double kernels = counts.kernels_inside / counts.kernels;
  const double programs = counts.programs_inside / counts.programs;
  fmt::print("{} of {} kernels inside ({:.1f} %), {} of {} sums of {} kernels ({:.1f} %)\n",
             counts.kernels_inside, counts.kernels, 100 * kernels, counts.programs_inside,
             counts.programs, kKernels, 100 * programs);
  EXPECT_GE(kernels, 0.85);
  EXPECT_LE(kernels, 0.97);
  EXPECT_GE(programs, 0.85);
}

}  // namespace
}  // namespace tilecast::hybrid
