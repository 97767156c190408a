// On random kernels: numbers are never infinite, and only depend on the query.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "learned/table_features.h"
#include "tests/host/random_kernels.h"

namespace tilecast::learned {
namespace {

using analytical::Estimate;
using analytical::KernelQuery;
using analytical::TileConfig;

constexpr std::size_t kKernels = 60;
constexpr std::size_t kTiles = 4;  // per kernel; one of them is the empty tile

struct Queries {
  std::deque<ir::Kernel> kernels;
  std::deque<TileConfig> tiles;
  std::vector<KernelQuery> all;
  std::vector<std::optional<Estimate>> priors;
};

Queries random_queries(std::uint64_t seed, const hwdesc::Device& device) {
  Queries queries;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < kKernels; ++i) {
    const ir::Kernel& kernel =
        queries.kernels.emplace_back(host::random_kernel(seed * kKernels + i).kernel);
    queries.all.push_back({kernel});
    for (std::size_t t = 1; t < kTiles; ++t) {
      queries.all.push_back(
          {kernel, &queries.tiles.emplace_back(host::random_tile(kernel, random))});
    }
  }
  queries.priors = analytical::AnalyticalModel().estimate(queries.all, device);
  return queries;
}

TableFeatures all_features() {
  using enum FeatureGroup;
  return TableFeatures(
      {.groups = {kStatic, kOps, kShape, kTile, kPrior, kMachine, kAlignment, kTileBounds}});
}

std::vector<float> extracted(const TableFeatures& features, const Queries& queries,
                             const hwdesc::Device& device) {
  std::vector<float> rows(queries.all.size() * features.width());
  features.extract(queries.all, device, queries.priors, rows);
  return rows;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(TableFeaturesProperty, ValuesAreFiniteOrMissingOnEveryMachine) {
  const TableFeatures features = all_features();
  for (const char* name : {"cpu_generic", "tpu_v3", "a100_sxm_40gb"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const Queries queries = random_queries(1, device);
    const std::vector<float> rows = extracted(features, queries, device);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_FALSE(std::isinf(rows[i]))
          << name << ": " << features.schema().columns[i % features.width()].name << " of "
          << queries.all[i / features.width()].kernel.name();
    }
  }
}

// Every column varies between kernels, except those of ops that random kernels do not have.
TEST(TableFeaturesProperty, ColumnsThatDescribeKernelsDiffer) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const TableFeatures features({.groups = {FeatureGroup::kStatic, FeatureGroup::kTile}});
  const Queries queries = random_queries(2, device);
  const std::vector<float> rows = extracted(features, queries, device);
  for (std::size_t column = 0; column < features.width(); ++column) {
    const std::string& name = features.schema().columns[column].name;
    if (name.starts_with("tile.input")) continue;  // tiles of kernels do not cut inputs
    std::set<float> values;
    for (std::size_t row = 0; row < queries.all.size(); ++row) {
      const float value = rows[row * features.width() + column];
      if (!std::isnan(value)) values.insert(value);
    }
    const bool deep = name.ends_with(".4") || name.ends_with(".5");
    EXPECT_GE(values.size(), deep ? 1U : 2U) << name;
  }
}

TEST(TableFeaturesProperty, AnswersDoNotDependOnTheRestOfTheBatch) {
  const hwdesc::Device device = hwdesc::load_device("tpu_v3");
  const TableFeatures features = all_features();
  Queries queries = random_queries(3, device);
  const std::vector<float> rows = extracted(features, queries, device);
  const std::size_t width = features.width();
  for (std::size_t i = queries.all.size(); i-- > 0;) {
    std::vector<float> alone(width);
    features.extract(std::span(queries.all).subspan(i, 1), device,
                     std::span(queries.priors).subspan(i, 1), alone);
    ASSERT_EQ(std::memcmp(alone.data(), &rows[i * width], width * sizeof(float)), 0) << i;
  }
}

TEST(TableFeaturesProperty, AnswersDoNotDependOnTheNumberOfThreads) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const TableFeatures features = all_features();
  const Queries queries = random_queries(4, device);
  const std::vector<float> rows = extracted(features, queries, device);
  std::vector<std::vector<float>> answers(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& answer : answers) {
    threads.emplace_back([&] { answer = extracted(features, queries, device); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& answer : answers) EXPECT_TRUE(same_bits(answer, rows));
}

}  // namespace
}  // namespace tilecast::learned
