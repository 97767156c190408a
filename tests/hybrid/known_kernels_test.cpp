// Positions of kernels, the reach of a place, and reading them back.
#include "hybrid/known_kernels.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/parallel.h"
#include "tests/support/errors.h"

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
  ASSERT_EQ(place.kernels.size(), 4U);
  EXPECT_EQ(place.kernels[1].name, "k2");
}

TEST(KnownKernels, DistancesAreInReachesToTheNearest) {
  const Place place{.reach = 2, .kernels = {{"a", at(0)}, {"c", at(3)}, {"b", at(8)}}};
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
    float least = distance(place.kernels.front().at, asked);
    for (const KnownKernel& known : place.kernels)
      least = std::min(least, distance(known.at, asked));
    EXPECT_FLOAT_EQ(static_cast<float>(place.distance(asked) * place.reach), least) << seed;
  }
}

TEST(KnownKernels, AreReadAsTheyWere) {
  std::vector<MeasuredKernel> kernels = on_a_line({0, 1 / 3.0, 2.7182818, 1e2});
  kernels.push_back({"of \"another\", place", 1, 9, at(std::log(2))});
  const Known known =
      Known::of({{.device = "a"}, {.device = "a", .writer = "w", .source = "s,t"}}, kernels);
  const Known again = Known::load(known.save(), "known.csv");
  EXPECT_EQ(again.save(), known.save());
  ASSERT_EQ(again.places().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.places()[i].writer, known.places()[i].writer);
    EXPECT_EQ(again.places()[i].source, known.places()[i].source);
    for (const double x : {0.1, 1.7, 50.0}) {
      EXPECT_EQ(again.places()[i].distance(at(x)), known.places()[i].distance(at(x)));
    }
  }
}

TEST(KnownKernels, AFileThatIsNoneIsRefusedWithItsPlace) {
  const std::string text = Known::of({{.device = "a"}}, on_a_line({0.5})).save();
  const auto refusal = [](const std::string& changed) -> std::string {
    return support::error_of([&] { return Known::load(changed, "known.csv"); }, "read");
  };
  EXPECT_EQ(refusal(text), "read");
  EXPECT_THAT(refusal("device,name\n"), HasSubstr("known.csv:1: the columns"));
  EXPECT_THAT(refusal(text.substr(0, text.size() - 5)), HasSubstr("known.csv:2"));
  for (const char* bad : {"nan", "inf", "1e300", "x", ""}) {
    for (const std::string good : {",0.05,", ",0.5,"}) {  // the reach, a coordinate
      std::string changed = text;
      changed.replace(changed.find(good), good.size(), "," + std::string(bad) + ",");
      EXPECT_THAT(refusal(changed), HasSubstr("known.csv:2")) << good << bad;
    }
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

}  // namespace
}  // namespace tilecast::hybrid
