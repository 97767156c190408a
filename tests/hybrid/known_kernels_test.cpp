// Positions of kernels, the reach of a place, and reading them back.
#include "hybrid/known_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/parallel.h"
#include "hybrid/bands.h"
#include "tests/support/errors.h"
#include "tests/support/texts.h"

namespace tilecast::hybrid {
namespace {

using testing::HasSubstr;

Coordinates at(double x) {
  Coordinates coordinates{};
  coordinates.time = static_cast<float>(x);
  return coordinates;
}

// Kernels of one place on a line, each in its own group.
std::vector<MeasuredKernel> on_a_line(std::initializer_list<double> positions) {
  std::vector<MeasuredKernel> kernels;
  for (const double x : positions) {
    const auto number = static_cast<std::uint32_t>(kernels.size());
    kernels.push_back({"k" + std::to_string(number), 0, number, at(x)});
  }
  return kernels;
}

Place known_of(const std::vector<MeasuredKernel>& kernels) {
  return Known::of({{.device = "a"}}, kernels).places().front();
}

double apart(const analytical::Estimate& a, const analytical::Estimate& b) {
  return distance(coordinates_of(a), coordinates_of(b));
}

TEST(KnownKernels, AFactorOfFourAndHalfOfTheTimeAreADistanceOfOne) {
  analytical::Estimate one{.time = Seconds{1e-5}};
  one.bounds[0] = one.time;
  analytical::Estimate slower = one, idle = one;
  slower.time = one.time * kFactor;
  slower.bounds[0] = one.bounds[0] * kFactor;
  idle.bounds[0] = one.time * 0.5;
  EXPECT_NEAR(apart(one, slower), 1, 1e-5);
  EXPECT_NEAR(apart(one, idle), 1, 1e-5);
}

TEST(KnownKernels, BytesAndOperationsCountByTheShareOfTimeTheyTake) {
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    analytical::Estimate one{.time = Seconds{1e-5}};
    one.hbm_read = Bytes{1e9};
    one.flops = Flops{1e12};
    one.bounds[static_cast<std::size_t>(analytical::Bound::kOverhead)] = one.time;
    analytical::Estimate read = one, computed = one;
    for (analytical::Estimate* each : {&one, &read}) {
      each->bounds[static_cast<std::size_t>(analytical::Bound::kHbmRead)] = one.time * share;
    }
    read.hbm_read = one.hbm_read * kFactor;
    EXPECT_NEAR(apart(one, read), share, 1e-5);
    one.bounds[static_cast<std::size_t>(analytical::Bound::kHbmRead)] = {};
    for (analytical::Estimate* each : {&one, &computed}) {
      each->bounds[static_cast<std::size_t>(analytical::Bound::kMatrix)] = one.time * share;
    }
    computed.flops = one.flops * kFactor;
    EXPECT_NEAR(apart(one, computed), share, 1e-5);
  }
}

TEST(KnownKernels, APlaceReachesAsFarAsNineOfTenKernelsAreFromAnotherGroup) {
  // Distances to the nearest other: 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10; floor(0.9 x 10) is the tenth
  // of them.
  EXPECT_DOUBLE_EQ(known_of(on_a_line({0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55})).reach, 9);
}

TEST(KnownKernels, OneGroupAloneReachesNext) {
  std::vector<MeasuredKernel> kernels = on_a_line({0, 1, 2});
  for (MeasuredKernel& kernel : kernels) kernel.group = 0;
  EXPECT_DOUBLE_EQ(known_of(kernels).reach, 0.05);
}

TEST(KnownKernels, KernelsNextToAKeptOneSayNothingNew) {
  const Place place = known_of(on_a_line({0, 0.2, 1, 2, 3}));
  ASSERT_DOUBLE_EQ(place.reach, 1);  // a quarter: 0.25
  ASSERT_EQ(place.kernels->size(), 4U);
  EXPECT_EQ((*place.kernels)[1].name, "k2");
}

TEST(KnownKernels, DistancesAreInReachesToTheNearest) {
  const Place place{.reach = 2,
                    .kernels = std::vector<KnownKernel>{{"a", at(0)}, {"c", at(3)}, {"b", at(8)}}};
  EXPECT_DOUBLE_EQ(place.distance(at(4)), 0.5);
  const auto nearest = place.nearest(at(4), 2);
  ASSERT_EQ(nearest.size(), 2U);
  EXPECT_EQ(nearest[0].name, "c");
  EXPECT_DOUBLE_EQ(nearest[0].distance, 0.5);
  EXPECT_EQ(nearest[1].name, "a");  // as far as b, and before it
  EXPECT_DOUBLE_EQ(nearest[1].distance, 2);
}

TEST(KnownKernels, TheNearestIsTheNearestOfAll) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](double most) {
      return std::uniform_real_distribution<float>(0, static_cast<float>(most))(random);
    };
    const auto coordinates = [&] {
      Coordinates c{.time = draw(5), .bytes = draw(20), .flops = draw(20), .moving = draw(1)};
      for (float& share : c.shares) share = draw(2);
      return c;
    };
    std::vector<MeasuredKernel> kernels;
    for (std::uint32_t i = 0; i < 40; ++i) kernels.push_back({"k", 0, i, coordinates()});
    const Place place = known_of(kernels);
    const Coordinates asked = coordinates();
    float least = distance(place.kernels->front().at, asked);
    for (const KnownKernel& known : *place.kernels)
      least = std::min(least, distance(known.at, asked));
    EXPECT_FLOAT_EQ(static_cast<float>(place.distance(asked) * place.reach), least) << seed;
  }
}

TEST(KnownKernels, AreReadAsTheyWere) {
  std::vector<MeasuredKernel> kernels = on_a_line({0, 1 / 3.0, 2.7182818, 1e2});
  kernels.push_back({"of \"another\", place", 1, 9, at(std::log(2))});
  const Known known =
      Known::of({{.device = "a"}, {.device = "a", .writer = "w", .source = "s,t"}}, kernels);
  for (const Place& place : known.places()) {
    Place again{.reach = place.reach};
    const std::string text = save_kernels(*place.kernels);
    again.kernels = load_kernels(text, "known_0.csv");
    EXPECT_EQ(save_kernels(*again.kernels), text);
    for (const double x : {0.1, 1.7, 50.0}) EXPECT_EQ(again.distance(at(x)), place.distance(at(x)));
  }
}

TEST(KnownKernels, AFileThatIsNoneIsRefusedWithItsPlace) {
  const std::string text = save_kernels(*known_of(on_a_line({0.5})).kernels);
  const auto refusal = [](const std::string& changed) -> std::string {
    return support::error_of([&] { return load_kernels(changed, "known_0.csv"); }, "read");
  };
  EXPECT_EQ(refusal(text), "read");
  EXPECT_THAT(refusal("device,name\n"), HasSubstr("known_0.csv:1: the columns"));
  EXPECT_THAT(refusal(text.substr(0, text.size() - 5)), HasSubstr("known_0.csv:2"));
  for (const std::string bad : {"nan", "inf", "1e300", "x", ""}) {
    EXPECT_THAT(refusal(support::replaced(text, ",0.5,", "," + bad + ",")),
                HasSubstr("known_0.csv:2"))
        << bad;
  }
}

}  // namespace
namespace {

hwdesc::Device named(const std::string& name) {
  hwdesc::Device device;
  device.name = name;
  return device;
}

TEST(KnownDevices, ReadADescriptionOnceAndWhenItIsAskedFor) {
  std::atomic<int> reads = 0;
  KnownDevices devices;
  devices.add(named("a"));
  devices.add("b", [&] {
    ++reads;
    return named("b");
  });
  EXPECT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices.name(1), "b");
  EXPECT_TRUE(devices.has("a") && devices.has("b") && !devices.has("c"));
  EXPECT_EQ(devices[0].name, "a");
  EXPECT_EQ(reads, 0);
  base::parallel_for(8, 4, [&](std::size_t) { EXPECT_EQ(devices[1].name, "b"); });
  EXPECT_EQ(devices.all().back(), &devices[1]);
  EXPECT_EQ(reads, 1);
}

TEST(KnownDevices, ADescriptionThatCannotBeReadIsRefusedEachTime) {
  KnownDevices devices;
  devices.add("bad", []() -> hwdesc::Device { throw Error("device_0.yaml:3:1: got nothing"); });
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)devices[0], Error);
}

// --- Intervals from the errors of trials: rank, stratum, and reading them back.

constexpr double kStep = 1e-4;  // of bands
const Stratum kFinest{Regime::kNear, 3, BoundKind::kMemory, SizeKind::kLonger};

// Errors of (i - centre) / 100, each in its own group.
std::vector<BandTrial> evenly(int count, double centre, const Stratum& stratum = kFinest) {
  std::vector<BandTrial> trials;
  for (int i = 0; i < count; ++i) {
    trials.push_back(
        {stratum, (i - centre) / 100, 1000 * stratum.place + static_cast<unsigned>(i)});
  }
  return trials;
}

// Of n trials and the next one, 5 % are beyond either side: rank ceil(0.95 (n + 1)) of n.
TEST(Bands, AreTheConformalRanksOfTheirTrials) {
  for (const int n : {20, 39, 59, 99, 200}) {
    const int rank = std::min(n, static_cast<int>(std::ceil(0.95 * (n + 1) - 1e-9)));
    const double centre = (n - 1) / 2.0;
    const Band band = Bands::of(evenly(n, centre)).at(kFinest);
    EXPECT_EQ(band.trials, n);
    EXPECT_NEAR(band.high, (rank - 1 - centre) / 100, kStep) << n;
    EXPECT_NEAR(band.low, -band.high, kStep) << n;
  }
}

TEST(Bands, HoldThePredictionItself) {
  const Band slow = Bands::of(evenly(40, -10)).at(kFinest);  // all were slower than predicted
  EXPECT_EQ(slow.low, 0);
  EXPECT_GT(slow.high, 0.3);
}

TEST(Bands, TrialsOfOneGroupCountAsTheRootOfTheirNumber) {
  std::vector<BandTrial> trials = evenly(100, 50);
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].group = i < 64 ? 0 : 1;
  EXPECT_NEAR(Bands::of(trials).at({.regime = Regime::kNear}).trials, std::sqrt(64) + std::sqrt(36),
              1e-9);
}

TEST(Bands, TheFinestStratumWithTrialsEnoughIsTaken) {
  Stratum other = kFinest;
  other.place = 4;
  std::vector<BandTrial> trials = evenly(30, 15);
  for (const BandTrial& few : evenly(19, -100, other)) trials.push_back(few);
  const Bands bands = Bands::of(trials);
  EXPECT_EQ(bands.at(kFinest).trials, 30);
  EXPECT_EQ(bands.at(other).trials, 49);  // for any place, bound and duration
  Stratum none = other;
  none.bound = BoundKind::kUnits;
  none.size = SizeKind::kBelow5us;
  EXPECT_EQ(bands.at(none).trials, 49);  // for the regime
}

TEST(Bands, WithoutAnyTrialAFactorOfFiveBothWays) {
  const Bands bands = Bands::of(evenly(3, 1));
  EXPECT_EQ(bands.at(kFinest).trials, 3);  // the coarsest stratum, even if small
  const Band unknown = bands.at({.regime = Regime::kPhysics});
  EXPECT_DOUBLE_EQ(std::exp(unknown.high), 5);
  EXPECT_DOUBLE_EQ(std::exp(unknown.low), 0.2);
}

TEST(Bands, AreReadAsTheyWere) {
  std::vector<BandTrial> trials = evenly(99, 41.7);
  for (BandTrial& trial : trials) trial.error = std::sin(trial.error);
  const Bands bands = Bands::of(trials);
  const Bands again = Bands::load(bands.save(), "bands.csv");
  EXPECT_EQ(again.save(), bands.save());
  EXPECT_EQ(again.at(kFinest).low, bands.at(kFinest).low);
  EXPECT_EQ(again.at(kFinest).high, bands.at(kFinest).high);
}

TEST(Bands, AFileThatIsNoneIsRefusedWithItsPlace) {
  const std::string header = "regime,place,bound,size,trials,low,high\n";
  const auto refusal = [&](const std::string& text) -> std::string {
    return support::error_of([&] { return Bands::load(text, "bands.csv"); }, "read");
  };
  EXPECT_EQ(refusal(header + "near,1,memory,any,20,-0.1,0.2\n"), "read");
  EXPECT_THAT(refusal("regime,place\n"), HasSubstr("bands.csv:1: the columns"));
  for (const char* row : {"far,1,memory,any,20,-0.1,0.2", "near,1,memory,any,20,-0.1,nan",
                          "near,1,memory,any,20,0.1,0.2", "near,1,memory,any,20,-0.1,1e300",
                          "near,1,memory,any,20,-inf,0.2", "near,-1,memory,any,20,-0.1,0.2",
                          "near,1,moon,any,20,-0.1,0.2", "near,1,memory,any,20,-0.1"}) {
    EXPECT_THAT(refusal(header + row + "\n"), HasSubstr("bands.csv:2")) << row;
  }
}
}  // namespace
}  // namespace tilecast::hybrid
