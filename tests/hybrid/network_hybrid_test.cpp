// Does a graph network correct physics: fitted, chosen, saved, loaded, explained, the same?
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "hwdesc/config_reader.h"
#include "hybrid/hybrid_dir.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;
using analytical::Estimate;
using analytical::KernelQuery;
using ::testing::AnyOf;
using ::testing::StartsWith;

const hwdesc::Device& tpu() {
  static const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  return device;
}

const measured::SampleSet& slow_small_kernels() {
  static const measured::SampleSet set = corrected_set(
      tpu(), 12, 6, [](const Estimate& e) { return 0.8 - 0.3 * std::log(e.time.value / 10e-6); });
  return set;
}

HybridSpec network_hybrid(std::string_view reduction, const std::string& more = {}) {
  HybridSpec spec;
  spec.name = "hybrid";
  spec.calibrate = false;
  spec.candidates = {learned::read_learner(hwdesc::read_config(
      fmt::format("name: net\nmodel: network\ntarget: residual\nhidden: 8\nopcode_width: 4\n"
                  "hops: 1\nheads: 2\nat_nodes: [static]\nat_kernel: [prior, tile]\nepochs: 60\n"
                  "batch: 8\nlearning_rate: 0.01\ndecay: 1\nvalidation: 0\nreduction: {}\n{}",
                  reduction, more),
      "learner.yaml"))};
  return spec;
}

std::vector<KernelQuery> queries() {
  std::vector<KernelQuery> result;
  const measured::SampleSet& set = slow_small_kernels();
  for (const measured::Sample& sample : set.samples) {
    result.push_back({.kernel = set.works[sample.work].parts.front().kernel, .tile = &sample.tile});
  }
  return result;
}

double mean_error(const std::vector<std::optional<Estimate>>& answers) {
  double error = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const double measured_s = slow_small_kernels().samples[i].measured.value;
    error += std::abs(std::log(answers[i]->time.value / measured_s));
  }
  return error / static_cast<double>(answers.size());
}

class NetworkHybrid : public testing::TestWithParam<std::string_view> {
 protected:
  NetworkHybrid()
      : folder_((fs::temp_directory_path() /
                 fmt::format("tilecast_network_hybrid_{}_{}", getpid(), GetParam()))
                    .string()) {}
  ~NetworkHybrid() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_P(NetworkHybrid, CorrectsIsSavedLoadedAndExplained) {
  FittedHybrid fitted = fit_to(slow_small_kernels(), tpu(), network_hybrid(GetParam()), 2);
  ASSERT_EQ(fitted.chosen, "net");
  EXPECT_EQ(fitted.card.kind, "network");
  save_hybrid(fitted.card, fitted.parts, fitted.training_csv, folder_);
  const HybridModel original(kPhysics, std::move(fitted.parts));
  const HybridModel loaded(kPhysics, load_hybrid(folder_).parts);
  const auto before = original.estimate(queries(), tpu()),
             after = loaded.estimate(queries(), tpu());
  const auto physics = kPhysics.estimate(queries(), tpu());
  EXPECT_LT(mean_error(before), mean_error(physics) / 2);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i]->time, after[i]->time);
    EXPECT_EQ(before[i]->correction->high, after[i]->correction->high);
  }
  const std::optional<CorrectionReasons> reasons = loaded.explain(queries().front(), tpu());
  ASSERT_TRUE(reasons);
  ASSERT_FALSE(reasons->drivers.empty());
  for (const Driver& driver : reasons->drivers) {
    EXPECT_THAT(driver.feature,
                AnyOf(StartsWith("static."), StartsWith("prior."), StartsWith("tile.")));
    EXPECT_NE(driver.effect, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, NetworkHybrid, testing::ValuesIn(learned::kReductions),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tilecast::hybrid
