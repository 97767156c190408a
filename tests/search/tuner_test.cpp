// Searches on invented spaces whose fastest candidate is known.
#include "search/tuner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/kernels/kernel_sketch.h"
#include "search/tuner_surrogate.h"
#include "tests/support/errors.h"

namespace tilecast::search {
namespace {

using ::testing::HasSubstr;

// A grid of kSide x kSide sizes 1, 2, 4 ...; times are a bowl in the logarithms with an off-centre
// minimum, and the analytical model's minimum is next to it.
constexpr std::size_t kSide = 16;

double bowl(std::size_t candidate, double x, double y) {
  const double dx = static_cast<double>(candidate % kSide) - x;
  const double dy = static_cast<double>(candidate / kSide) - y;
  return 1e-6 * std::exp(0.05 * (dx * dx + dy * dy));
}
double time_of(std::size_t candidate) {
  return bowl(candidate, 11, 4);
}
constexpr std::size_t kFastest = 4 * kSide + 11;

TuneSpace space_of(const std::function<std::optional<double>(std::size_t)>& physics) {
  TuneSpace space{.columns = 2};
  for (std::size_t i = 0; i < kSide * kSide; ++i) {
    space.features.push_back(static_cast<float>(std::exp2(i % kSide)));
    space.features.push_back(static_cast<float>(std::exp2(i / kSide)));
    space.analytical.push_back(physics(i));
  }
  return space;
}
TuneSpace near_space() {
  return space_of([](std::size_t i) { return bowl(i, 9, 6); });
}

std::vector<std::optional<double>> measured(std::span<const TuneTrial> asked) {
  std::vector<std::optional<double>> times;
  for (const TuneTrial& trial : asked) times.emplace_back(time_of(trial.candidate));
  return times;
}

std::vector<std::size_t> order(const TuneResult& result) {
  std::vector<std::size_t> candidates;
  for (const TuneTrial& trial : result.trials) candidates.push_back(trial.candidate);
  return candidates;
}

class EveryStrategy : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static Strategy strategy() { return static_cast<Strategy>(GetParam()); }
};

TEST_P(EveryStrategy, MeasuresAsManyDifferentCandidatesAsAskedAndNamesTheFastest) {
  const TuneSpace space = near_space();
  const TuneResult result =
      tune(space, measured, {.strategy = strategy(), .trials = 25, .batch = 10});
  ASSERT_EQ(result.trials.size(), 25U);
  const std::vector<std::size_t> candidates = order(result);
  EXPECT_EQ(std::set<std::size_t>(candidates.begin(), candidates.end()).size(), 25U);
  ASSERT_TRUE(result.best.has_value());
  for (const TuneTrial& trial : result.trials) {
    EXPECT_EQ(trial.measured, time_of(trial.candidate));
    EXPECT_LE(*result.trials[*result.best].measured, *trial.measured);
  }
}

TEST_P(EveryStrategy, StopsWhenEverythingIsMeasured) {
  TuneSpace space{.columns = 1, .features = {1, 2, 3}, .analytical = {3e-6, {}, 1e-6}};
  const TuneResult result = tune(space, measured, {.strategy = strategy(), .trials = 50});
  EXPECT_EQ(result.trials.size(), 3U);
}

TEST_P(EveryStrategy, GoesOnAfterFailedMeasurementsAndAsksThemOnce) {
  const TuneSpace space = near_space();
  const TuneResult result = tune(space,
                                 [](std::span<const TuneTrial> asked) {
                                   std::vector<std::optional<double>> times(asked.size());
                                   for (std::size_t i = 0; i < asked.size(); ++i) {
                                     if (asked[i].candidate % 2 == 1)
                                       times[i] = time_of(asked[i].candidate);
                                   }
                                   return times;
                                 },
                                 {.strategy = strategy(), .trials = 30, .batch = 5});
  const std::vector<std::size_t> candidates = order(result);
  EXPECT_EQ(std::set<std::size_t>(candidates.begin(), candidates.end()).size(), 30U);
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.trials[*result.best].candidate % 2, 1U);
}

TEST_P(EveryStrategy, HasNoBestWhereAllFail) {
  const TuneResult result = tune(near_space(),
                                 [](std::span<const TuneTrial> asked) {
                                   return std::vector<std::optional<double>>(asked.size());
                                 },
                                 {.strategy = strategy(), .trials = 12, .batch = 4});
  EXPECT_EQ(result.trials.size(), 12U);
  EXPECT_FALSE(result.best.has_value());
}

TEST_P(EveryStrategy, GivesTheSameTrialsForTheSameSeed) {
  const TuneSpace space = near_space();
  const TuneOptions options{.strategy = strategy(), .trials = 20, .batch = 5, .seed = 7};
  EXPECT_EQ(order(tune(space, measured, options)), order(tune(space, measured, options)));
}

TEST_P(EveryStrategy, CountsKnownTrialsAndDoesNotRepeatThem) {
  const TuneSpace space = near_space();
  TuneOptions options{.strategy = strategy(), .trials = 10, .batch = 5};
  options.known = tune(space, measured, options).trials;
  options.trials = 20;
  const TuneResult result = tune(space, measured, options);
  const std::vector<std::size_t> candidates = order(result);
  ASSERT_EQ(candidates.size(), 20U);
  EXPECT_EQ(std::set<std::size_t>(candidates.begin(), candidates.end()).size(), 20U);
  EXPECT_EQ(candidates.front(), options.known.front().candidate);
}

std::string strategy_name(const ::testing::TestParamInfo<int>& info) {
  return std::string(kStrategies[static_cast<std::size_t>(info.param)]);
}
INSTANTIATE_TEST_SUITE_P(Tuner, EveryStrategy, ::testing::Range(0, 5), strategy_name);

TEST(Tuner, GridTakesCandidatesInTheirOrder) {
  const TuneResult result =
      tune(near_space(), measured, {.strategy = Strategy::kGrid, .trials = 4, .batch = 3});
  EXPECT_EQ(order(result), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Tuner, AnalyticalTakesTheFastestByPhysicsAndTheUnansweredLast) {
  const TuneSpace space{
      .columns = 1, .features = {1, 2, 3, 4}, .analytical = {std::nullopt, 2e-6, 1e-6, 3e-6}};
  const TuneResult result = tune(space, measured, {.strategy = Strategy::kModel});
  EXPECT_EQ(order(result), (std::vector<std::size_t>{2, 1, 3, 0}));
  EXPECT_EQ(result.trials.front().predicted, 1e-6);
  EXPECT_EQ(result.trials.back().predicted, std::nullopt);
}

TEST(Tuner, HybridBeginsWithPhysicsBestAndSpreadsTheRestOfItsFirstBatch) {
  const TuneSpace space = near_space();
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 5, .batch = 5});
  EXPECT_EQ(result.trials.front().candidate, 6 * kSide + 9);
  const Surrogate scaled(space, true);
  // The analytical model's best are its minimum and neighbours, which the search does not choose.
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t a = result.trials[i].candidate, b = result.trials[j].candidate;
      EXPECT_GT(scaled.distance2(a, b), scaled.distance2(0, 1)) << a << " and " << b;
    }
  }
}

TEST(Tuner, HybridFindsTheFastestWhereItsPhysicsIsBesideIt) {
  const TuneSpace space = near_space();
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 30, .batch = 10});
  EXPECT_EQ(result.trials[*result.best].candidate, kFastest);
}

TEST(Tuner, HybridLearnsWithinTenTrials) {
  const TuneSpace space = near_space();
  const Measure rising = [](std::span<const TuneTrial> asked) {  // in the opposite corner
    std::vector<std::optional<double>> times;
    for (const TuneTrial& trial : asked) times.emplace_back(bowl(trial.candidate, 2, 13));
    return times;
  };
  const TuneOptions options{.trials = 10};
  ASSERT_LT(kFirstTrials + options.batch, options.trials);
  const auto one = order(tune(space, measured, options));
  const auto other = order(tune(space, rising, options));
  const auto first = static_cast<std::ptrdiff_t>(kFirstTrials);
  EXPECT_TRUE(std::equal(one.begin(), one.begin() + first, other.begin()));
  EXPECT_FALSE(std::equal(one.begin() + first, one.end(), other.begin() + first));
}

TEST(Tuner, FailedTrialsCountAgainstTheBudget) {
  std::size_t asked = 0;
  const Measure fails = [&](std::span<const TuneTrial> trials) {
    asked += trials.size();
    return std::vector<std::optional<double>>(trials.size());
  };
  const TuneResult result = tune(near_space(), fails, {.trials = 12});
  EXPECT_EQ(asked, 12U);
  EXPECT_EQ(result.trials.size(), 12U);
}

TEST(Tuner, HybridWorksWherePhysicsHasNoAnswerAtAll) {
  const TuneSpace space = space_of([](std::size_t) { return std::nullopt; });
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 50, .batch = 10});
  EXPECT_LE(*result.trials[*result.best].measured, 1.3 * time_of(kFastest));
}

TEST(Tuner, HybridSurvivesPhysicsThatIsUpsideDown) {
  const TuneSpace space =
      space_of([](std::size_t i) { return std::optional(1e-9 / bowl(i, 11, 4)); });
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 50, .batch = 10});
  EXPECT_LE(*result.trials[*result.best].measured, 1.3 * time_of(kFastest));
}

TEST(Tuner, TakesSpacesWhoseColumnsDoNotVary) {
  const TuneSpace space{
      .columns = 1, .features = {5, 5, 5, 5}, .analytical = {1e-6, 1e-6, 1e-6, 1e-6}};
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 4, .batch = 2});
  EXPECT_EQ(result.trials.size(), 4U);
}

TEST(Tuner, TakesMissingFeatures) {
  TuneSpace space = near_space();
  for (std::size_t i = 0; i < space.features.size(); i += 7) {
    space.features[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const TuneResult result =
      tune(space, measured, {.strategy = Strategy::kHybrid, .trials = 15, .batch = 5});
  EXPECT_EQ(result.trials.size(), 15U);
}

void expect_error(const TuneSpace& space, const TuneOptions& options, const std::string& message) {
  EXPECT_THAT(support::error_of([&] { return tune(space, measured, options); }),
              HasSubstr(message));
}

TEST(Tuner, RefusesWhatIsNoSpace) {
  expect_error({}, {}, "got no candidates");
  expect_error(
      {.columns = 1, .features = {std::numeric_limits<float>::infinity()}, .analytical = {1e-6}},
      {}, "infinite feature");
  expect_error({.columns = 0, .analytical = {-1e-6}}, {}, "analytical time of -1e-06 s");
  const TuneSpace one{.columns = 0, .analytical = {1e-6}};
  expect_error(one, {.known = {{0, {}, 1e-6}, {0, {}, 1e-6}}}, "or two trials of one");
}

TEST(Tuner, RefusesTimesThatAreNotPositive) {
  const TuneSpace one{.columns = 0, .analytical = {1e-6}};
  const Measure zero = [](std::span<const TuneTrial>) {
    return std::vector<std::optional<double>>{0.0};
  };
  EXPECT_THROW((void)tune(one, zero, {}), Error);
}

// The logarithms of the times of every `step`-th candidate, and a surrogate fitted to them.
struct Fitted {
  Fitted(const TuneSpace& space, std::size_t step) : surrogate(space, true) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 3; i < space.size(); i += step) {
      rows.push_back(i);
      logs.push_back(std::log(time_of(i)));
    }
    surrogate.fit(rows, logs, 1);
  }

  Surrogate surrogate;
  std::vector<double> logs;
};

TEST(Surrogate, ContinuesPhysicsThatIsOffByAFactor) {
  const TuneSpace space = space_of([](std::size_t i) { return 3 * time_of(i); });
  const Fitted fitted(space, 25);
  EXPECT_NEAR(fitted.surrogate.trust(), 1, 0.05);
  const std::vector<std::size_t> asked{kFastest};
  double mean = 0, deviation = 0;
  fitted.surrogate.predict(asked, {&mean, 1}, {&deviation, 1});
  EXPECT_NEAR(mean, std::log(time_of(kFastest)), 0.01);
}

TEST(Surrogate, OrdersAsPhysicsDoesWhereOneIsMeasured) {
  const TuneSpace space = near_space();
  Surrogate surrogate(space, true);
  const std::vector<std::size_t> rows{0};
  const std::vector<double> logs{std::log(time_of(0))};
  surrogate.fit(rows, logs, 1);
  EXPECT_DOUBLE_EQ(surrogate.trust(), 1);
  const std::vector<std::size_t> asked{6 * kSide + 9, 2 * kSide + 1, kSide * kSide - 1};
  std::vector<double> means(3), deviations(3);
  surrogate.predict(asked, means, deviations);
  EXPECT_LT(means[0], means[1]);
  EXPECT_LT(means[0], means[2]);
}

TEST(Surrogate, TrustsPhysicsLessWhereItIsUpsideDown) {
  const TuneSpace space =
      space_of([](std::size_t i) { return std::optional(1e-9 / bowl(i, 11, 4)); });
  const Fitted fitted(space, 9);
  EXPECT_LT(fitted.surrogate.trust(), 0.2);
}

TEST(Surrogate, LearnsTimesThoughPhysicsIsNoise) {
  const TuneSpace space = space_of(
      [](std::size_t i) { return 1e-6 * std::exp(static_cast<double>(i * 7919 % 101) / 20); });
  const Fitted fitted(space, 9);
  std::vector<std::size_t> all(space.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<double> means(all.size()), deviations(all.size());
  fitted.surrogate.predict(all, means, deviations);
  const double mean =
      std::accumulate(fitted.logs.begin(), fitted.logs.end(), 0.0) / double(fitted.logs.size());
  double error = 0, scatter = 0;  // equal if nothing is learned
  for (const std::size_t i : all) {
    error += std::abs(means[i] - std::log(time_of(i)));
    scatter += std::abs(mean - std::log(time_of(i)));
  }
  EXPECT_LT(error, 0.5 * scatter);
}

TEST(Surrogate, IsSurerNearWhatItHasSeen) {
  const TuneSpace space = near_space();
  Surrogate surrogate(space, true);
  const std::vector<std::size_t> rows{0, 1, 2, kSide, kSide + 1, 2 * kSide};
  std::vector<double> logs;
  for (const std::size_t row : rows) logs.push_back(std::log(time_of(row)));
  surrogate.fit(rows, logs, 1);
  const std::vector<std::size_t> asked{1, kSide * kSide - 1};
  std::vector<double> means(2), deviations(2);
  surrogate.predict(asked, means, deviations);
  EXPECT_LT(deviations[0], deviations[1]);
}

TEST(MakeSpace, HoldsTheTileItsStagesAndWarpsItsParametersAndWhatPhysicsSays) {
  const hwdesc::Device device = hwdesc::load_device("a100_sxm_40gb");
  ir::KernelSketch sketch("product", ir::Opcode::kDot, {.tiled = false});
  const ir::OpId lhs = sketch.parameter(ir::DType::kF16, {512, 256});
  const ir::OpId rhs = sketch.parameter(ir::DType::kF16, {256, 1024});
  const ir::DotDims dims{.lhs_contracting = {1}, .rhs_contracting = {0}};
  const ir::Kernel kernel =
      sketch.build({sketch.dot(lhs, rhs, dims, {512, 1024}, ir::DType::kF16)});
  const analytical::TileConfig tile{
      .output = {64, 128}, .kernel = {32, 128}, .input = {}, .stages = 3, .warps = 8};
  const analytical::TileConfig cannot_run{
      .output = {256, 256}, .kernel = {128, 256}, .input = {}, .stages = 9, .warps = 4};
  const std::vector<float> parameters{7};
  const std::vector<analytical::KernelQuery> queries = {{kernel, &tile, parameters},
                                                        {kernel, &cannot_run, parameters}};
  const analytical::AnalyticalModel physics;
  const TuneSpace space = make_space(queries, device, physics);
  EXPECT_EQ(std::vector<float>(space.features.begin(), space.features.begin() + 7),
            (std::vector<float>{64, 128, 32, 128, 3, 8, 7}));
  ASSERT_EQ(space.terms.size(), 2 * space.term_columns);
  const auto answer = *physics.estimate(queries, device).front();
  EXPECT_EQ(space.analytical.front(), answer.time.value);
  EXPECT_FLOAT_EQ(space.terms.front(), static_cast<float>(std::log(answer.bounds[0].value)));
  EXPECT_FALSE(space.analytical.back());
  EXPECT_TRUE(std::isnan(space.terms[space.term_columns]));
}

TEST(CompareStrategies, ScoresAgainstTheFastestAndIsTheSameForAnyJobs) {
  const TuneSpace space = near_space();
  std::vector<std::optional<double>> times;
  for (std::size_t i = 0; i < space.size(); ++i) times.emplace_back(time_of(i));
  CompareOptions options{.trials = {1, 10}, .seeds = 3};
  options.strategies = {Strategy::kGrid, Strategy::kHybrid};
  const auto one = compare_strategies(space, times, options);
  options.jobs = 2;
  const auto two = compare_strategies(space, times, options);
  ASSERT_EQ(one.size(), 2U);
  EXPECT_DOUBLE_EQ(one[0].at[0].mean, time_of(kFastest) / time_of(0));
  EXPECT_DOUBLE_EQ(one[0].at[0].interval.low, one[0].at[0].interval.high);
  for (std::size_t s = 0; s < one.size(); ++s) {
    EXPECT_LE(one[s].at[0].mean, one[s].at[1].mean);
    EXPECT_LE(one[s].at[1].mean, 1.0);
    EXPECT_LE(one[s].at[1].least, one[s].at[1].mean);
    EXPECT_EQ(one[s].at[1].mean, two[s].at[1].mean);
  }
}

TEST(CompareStrategies, CountsAllFailedTrialsAsNothingFound) {
  TuneSpace space = near_space();
  std::vector<std::optional<double>> times(space.size());
  times.back() = 1e-6;
  CompareOptions options{.trials = {5}, .seeds = 1};
  options.strategies = {Strategy::kGrid};
  EXPECT_EQ(compare_strategies(space, times, options).front().at.front().mean, 0);
  times.back().reset();
  EXPECT_THROW((void)compare_strategies(space, times, options), Error);
}

TEST(OrderedBy, DealsTheTimesOutInTheOrderOfTheScores) {
  TuneSpace space;
  space.analytical = {3.0, 1.0, std::nullopt, 2.0, 4.0};
  const std::vector<std::optional<double>> scores = {0.1, 0.9, 0.0, std::nullopt, -5.0};
  const TuneSpace ordered = ordered_by(space, scores);
  // By score: the last, the first, the second, then the one without a score.
  EXPECT_EQ(ordered.analytical,
            (std::vector<std::optional<double>>{2.0, 3.0, std::nullopt, 4.0, 1.0}));
}

}  // namespace
}  // namespace tilecast::search
