// Intervals from the errors of trials: rank, stratum, and reading them back.
#include "hybrid/bands.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/support/errors.h"

namespace tilecast::hybrid {
namespace {

using testing::HasSubstr;

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
