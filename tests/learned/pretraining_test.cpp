// Which unmeasured tiles physics labels, and what learning them first is worth.
#include "learned/training/pretraining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "tests/learned/synthetic_set.h"

namespace tilecast::learned {
namespace {

using analytical::KernelAnalysis;
using analytical::TileConfig;
using ::testing::HasSubstr;

constexpr double kOff = 1.3;  // measured / analytical, but for the wave

// Three matmuls with all their tiles, measured = 1.3 x analytical x a factor that is smooth in the
// size of the tile.
class Tiles : public testing::Test {
 protected:
  Tiles() {
    disk_.write_manifest("dtype: bf16\n");
    disk_.write("measurements.csv",
                "op,m,n,k,runtime_ns\nmatmul,4096,512,1024,9000\nmatmul,2048,2048,512,9000\n"
                "matmul,1024,1024,4096,9000\n");
    set_ = measured::make_samples(measured::read_measurement_set(disk_.path()), device_,
                                  {.check_physics = false});
    all_.parameter_names = {{}};
    for (std::size_t k = 0; k < set_.works.size(); ++k) {
      all_.kernels.push_back(set_.works[k].name);
      all_.families.push_back(set_.works[k].name);
      const KernelAnalysis analysis(kernel(k), device_);
      for (const TileConfig& tile : analysis.tiles()) {
        add(k, &tiles_.emplace_back(tile), analysis.time(tile).value);
      }
    }
  }

  [[nodiscard]] const ir::Kernel& kernel(std::size_t number) const {
    return set_.works[number].parts.front().kernel;
  }
  void add(std::size_t number, const TileConfig* tile, double analytical_s) {
    double size = 1;
    if (tile != nullptr) {
      for (const auto bound : tile->output) size *= static_cast<double>(bound);
    }
    const double wave = 0.1 * std::sin(std::log(size));
    all_.rows.push_back({.device = &device_,
                         .log_time = std::log(kOff * analytical_s) + wave,
                         .kernel = static_cast<std::uint32_t>(number),
                         .family = static_cast<std::uint32_t>(number)});
    all_.queries.push_back({kernel(number), tile});
  }
  // The first are `count` at random, the others all the rest.
  [[nodiscard]] std::pair<Examples, Examples> split_at_random(std::size_t count,
                                                              std::uint64_t seed) const {
    std::vector<std::size_t> order(all_.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::swap(order[i], order[i + random() % (order.size() - i)]);
    }
    const std::span<const std::size_t> rows(order);
    return {all_.subset(rows.first(count)), all_.subset(rows.subspan(count))};
  }

  measured::SetOnDisk disk_;
  hwdesc::Device device_ = hwdesc::load_device("tpu_v3");
  measured::SampleSet set_;
  std::deque<TileConfig> tiles_;
  const analytical::AnalyticalModel physics_;
  Examples all_{.prior_model = &physics_};
};

LearnerSpec trees(std::size_t pretrain, std::uint64_t seed = 1) {
  LearnerSpec spec = small_trees("validation: 0\n", 100);
  spec.pretrain = pretrain;
  spec.seed = seed;
  return spec;
}

const std::string& bytes(const Trained& trained) {
  return trained.predictor->trees()->model.save();
}

std::map<std::uint32_t, std::size_t> count_by_kernel(const Examples& examples) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Example& row : examples.rows) ++counts[row.kernel];
  return counts;
}

TEST_F(Tiles, ThatAreUnmeasuredAreValidDistinctAndLabelledByPhysics) {
  const auto [measured, others] = split_at_random(30, 1);
  const Unmeasured unmeasured(measured, 90, 1, 1);
  const Examples& given = unmeasured.examples();
  ASSERT_EQ(given.rows.size(), 90U);
  EXPECT_EQ(count_by_kernel(given),
            (std::map<std::uint32_t, std::size_t>{{0, 30}, {1, 30}, {2, 30}}));
  std::set<std::pair<std::uint32_t, std::string>> seen;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    seen.emplace(measured.rows[i].kernel, analytical::to_string(*measured.queries[i].tile));
  }
  for (std::size_t i = 0; i < given.rows.size(); ++i) {
    const TileConfig& tile = *given.queries[i].tile;
    EXPECT_TRUE(seen.emplace(given.rows[i].kernel, analytical::to_string(tile)).second);
    const double time = KernelAnalysis(given.queries[i].kernel, device_).time(tile).value;
    ASSERT_TRUE(std::isfinite(time));
    EXPECT_NEAR(given.rows[i].log_time, std::log(time), 1e-12);
    EXPECT_EQ(given.rows[i].log_time, std::log(given.priors[i]->time.value));
    EXPECT_EQ(given.rows[i].weight, 1);
    EXPECT_EQ(given.rows[i].device, &device_);
  }
}

TEST_F(Tiles, ThatAreUnmeasuredFollowTheSeedAlone) {
  const auto [measured, others] = split_at_random(30, 1);
  const auto names = [&](std::uint64_t seed, int jobs) {
    const Unmeasured unmeasured(measured, 60, seed, jobs);
    std::vector<std::string> result;
    for (const auto& query : unmeasured.examples().queries) {
      result.push_back(analytical::to_string(*query.tile));
    }
    return result;
  };
  EXPECT_EQ(names(1, 1), names(1, 3));
  EXPECT_NE(names(1, 1), names(2, 1));
}

TEST_F(Tiles, OfOneKernelMakeUpForWhatAnotherDoesNotHave) {
  const analytical::AnalyticalModel physics;
  Examples measured{.prior_model = &physics};
  measured.kernels = all_.kernels;
  measured.families = all_.families;
  measured.parameter_names = all_.parameter_names;
  // The first without a tile, the second with one.
  const auto second = static_cast<std::size_t>(std::ranges::find(all_.rows, 1U, &Example::kernel) -
                                               all_.rows.begin());
  measured.rows = {all_.rows.front(), all_.rows[second]};
  measured.queries.push_back({kernel(0), nullptr});
  measured.queries.push_back(all_.queries[second]);
  const Unmeasured unmeasured(measured, 21, 1, 1);
  const Examples& given = unmeasured.examples();
  EXPECT_EQ(count_by_kernel(given), (std::map<std::uint32_t, std::size_t>{{0, 1}, {1, 20}}));
  EXPECT_EQ(given.queries.front().tile, nullptr);
  const double best = KernelAnalysis(kernel(0), device_).estimate_best().time.value;
  EXPECT_NEAR(given.rows.front().log_time, std::log(best), 1e-12);
}

TEST_F(Tiles, AreNoMoreThanThereAre) {
  const auto [measured, others] = split_at_random(all_.rows.size() - 5, 1);
  EXPECT_EQ(Unmeasured(measured, 1000, 1, 1).examples().rows.size(), 5U);
}

TEST_F(Tiles, OfQueriesWithParametersHaveNone) {
  auto [measured, others] = split_at_random(6, 1);
  measured.parameter_names = {{"block", "unroll"}};
  const Unmeasured unmeasured(measured, 9, 1, 1);
  for (const auto& query : unmeasured.examples().queries) {
    ASSERT_EQ(query.parameters.size(), 2U);
    for (const float value : query.parameters) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_F(Tiles, JoinTheMeasuredOnes) {
  const auto [measured, others] = split_at_random(12, 1);
  const Unmeasured unmeasured(measured, 9, 1, 1);
  const Examples joined = unmeasured.joined_to(measured);
  ASSERT_EQ(joined.rows.size(), 21U);
  EXPECT_EQ(joined.rows[11].log_time, measured.rows[11].log_time);
  EXPECT_EQ(joined.queries[12].tile, unmeasured.examples().queries[0].tile);
  EXPECT_TRUE(joined.priors.empty());  // as the measured ones'
}

TEST_F(Tiles, LabelledByPhysicsMakeTenMeasuredOnesWorthMore) {
  double with = 0, without = 0;
  constexpr int kSeeds = 5;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto [measured, others] = split_at_random(10, seed);
    const auto error = [&](std::size_t pretrain) {
      const Trained trained = train(trees(pretrain, seed), measured);
      return rmse(predictions(*trained.predictor, others, device_), others);
    };
    const double pretrained = error(300), plain = error(0);
    EXPECT_LT(pretrained, plain) << "seed " << seed;
    with += pretrained / kSeeds;
    without += plain / kSeeds;
  }
  EXPECT_LT(with, without / 2);
}

TEST_F(Tiles, LabelledByPhysicsDoNotReplaceMeasurements) {
  const auto [measured, others] = split_at_random(100, 1);
  const Trained trained = train(trees(300), measured);
  double bias = 0;
  const std::vector<double> predicted = predictions(*trained.predictor, others, device_);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    bias += (predicted[i] - others.rows[i].log_time) / static_cast<double>(predicted.size());
  }
  EXPECT_LT(std::abs(bias), std::log(kOff) / 2);  // the labels alone: -log(1.3)
}

TEST_F(Tiles, LabelledByPhysicsGiveOneModelThatFollowsTheSeedAlone) {
  const auto [measured, others] = split_at_random(40, 1);
  LearnerSpec spec = trees(120);
  spec.gbt.column_sample = 0.5;
  spec.gbt.subsample = 0.8;
  const Trained once = train(spec, measured, {.threads = 1});
  EXPECT_EQ(bytes(train(spec, measured, {.threads = 2})), bytes(once));
  EXPECT_EQ(once.predictor->trees()->model.trees(), spec.gbt.trees);
  spec.seed = 2;
  EXPECT_NE(bytes(train(spec, measured)), bytes(once));
}

TEST_F(Tiles, LabelledByPhysicsCannotTeachAResidual) {
  auto [measured, others] = split_at_random(20, 1);
  measured.priors = analytical::AnalyticalModel().estimate(measured.queries, device_);
  LearnerSpec spec = trees(100);
  spec.target = Target::kResidual;
  try {
    static_cast<void>(train(spec, measured));
    ADD_FAILURE() << "trained";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("pretrain: got 100"));
    EXPECT_THAT(error.what(), HasSubstr("residual"));
  }
}

// Half of the rows say twice the time; with hardly any weight it is as if they were not there.
TEST_F(Tiles, ThatWeighLittleTeachLittle) {
  const auto [clean, others] = split_at_random(120, 1);
  Examples measured = clean;
  std::vector<std::size_t> trusted;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    if (i % 2 == 0) measured.rows[i].log_time += std::log(2);
    if (i % 2 != 0) trusted.push_back(i);
  }
  const auto bias = [&, &clean = clean](const Examples& examples) {
    const Trained trained = train(trees(0), examples);
    const std::vector<double> predicted = predictions(*trained.predictor, clean, device_);
    double sum = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) sum += predicted[i] - clean.rows[i].log_time;
    return sum / static_cast<double>(predicted.size());
  };
  const double without = bias(clean.subset(trusted));
  EXPECT_GT(bias(measured), without + std::log(2) / 4);
  for (std::size_t i = 0; i < measured.rows.size(); i += 2) measured.rows[i].weight = 1e-4;
  EXPECT_NEAR(bias(measured), without, std::log(2) / 10);
}

TEST_F(Tiles, ThatWeighTheSameGiveTheSameModelWhateverTheirWeight) {
  auto [measured, others] = split_at_random(40, 1);
  const std::string one = bytes(train(trees(0), measured));
  for (Example& row : measured.rows) row.weight = 0.25;
  EXPECT_EQ(bytes(train(trees(0), measured)), one);
}

}  // namespace
}  // namespace tilecast::learned
