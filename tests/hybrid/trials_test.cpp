// The rows used for trials, their groups and places, and the report.
#include "hybrid/trials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "hybrid/bag.h"
#include "hybrid/bag_fit.h"
#include "hybrid/shrinkage.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

constexpr int kKernels = 6, kTiles = 3;
const BagSpec kSpec{.features = {.groups = {learned::FeatureGroup::kPrior}, .parameters = {}}};

const measured::SampleSet& set() {
  static const measured::SampleSet made = corrected_set(tpu_v3(), kKernels, kTiles, by_size, 0.02);
  return made;
}

using analytical::KernelQuery;
using learned::ValidateBy;

TrialRows rows_of(ValidateBy by = ValidateBy::kKernel, const measured::SampleSet& from = set()) {
  return trial_rows(kPhysics, kSpec, {{&from, 1}, {&tpu_v3(), 1}, by});
}

// One trial per row, with the opinion `said` of its residual.
std::vector<Trial> trials_of(const TrialRows& rows, const std::function<double(double)>& said) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < rows.bag.size(); ++i) {
    const double residual = rows.bag.residual[i];
    trials.push_back({.row = i,
                      .residual = residual,
                      .said = {.mean = said(residual)},
                      .unit = rows.bag.group[i],
                      .kind = rows.kind[i]});
  }
  return trials;
}

TEST(TrialRows, AreWhatPhysicsMissesByKernel) {
  const TrialRows rows = rows_of();
  ASSERT_EQ(rows.bag.size(), set().samples.size());
  for (std::size_t i = 0; i < rows.bag.size(); ++i) {
    const Seconds physics = ask(kPhysics, query_of(set(), i), tpu_v3()).time;
    EXPECT_NEAR(rows.bag.residual[i], std::log(set().samples[i].measured / physics), 1e-9);
    EXPECT_EQ(rows.bag.group[i], set().samples[i].work);
    EXPECT_EQ(rows.place[i], 0U);
  }
  ASSERT_EQ(rows.places.size(), 1U);
  EXPECT_EQ(rows.places.front().device, tpu_v3().name);
  EXPECT_EQ(rows.places.front().source, set().name);
}

std::size_t groups_of(const TrialRows& rows) {
  return std::set<std::uint32_t>(rows.bag.group.begin(), rows.bag.group.end()).size();
}

// Assigns the kernels to `families` in turn.
measured::SampleSet in_families(int kernels, std::size_t families) {
  measured::SampleSet made = corrected_set(tpu_v3(), kernels, kTiles, by_size);
  for (std::size_t i = 0; i < made.works.size(); ++i) {
    made.works[i].family = fmt::format("program {}", i % families);
  }
  return made;
}

TEST(TrialRows, GroupsAreWhatIsAskedForAndFinerWhereThoseAreFew) {
  const measured::SampleSet programs = in_families(20, 10);
  EXPECT_EQ(groups_of(rows_of(ValidateBy::kFamily, programs)), 10U);
  EXPECT_EQ(groups_of(rows_of(ValidateBy::kKernel, programs)), 20U);
  EXPECT_EQ(groups_of(rows_of(ValidateBy::kRow, programs)), programs.samples.size());
  EXPECT_EQ(groups_of(rows_of(ValidateBy::kFamily, in_families(20, 9))), 20U);
  const measured::SampleSet few = corrected_set(tpu_v3(), kLeastUnits - 1, kTiles, by_size);
  for (const ValidateBy by : {ValidateBy::kFamily, ValidateBy::kKernel}) {
    EXPECT_EQ(groups_of(rows_of(by, few)), few.samples.size());
  }
}

TEST(Trials, AskMembersThatHaveNotSeenTheGroup) {
  const TrialRows rows = rows_of();
  std::vector<std::size_t> all(rows.bag.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const FittedBag fitted = fit_bag(kSpec, rows.bag, all, 1);
  const std::vector<Trial> trials = run_trials(rows, fitted);
  EXPECT_EQ(trials.size(), std::ranges::count_if(fitted.unseen, [](auto& u) { return bool(u); }));
  for (const Trial& trial : trials) {
    EXPECT_EQ(trial.said.mean, fitted.unseen[trial.row]->mean);
    EXPECT_EQ(trial.unit, rows.bag.group[trial.row]);
    EXPECT_EQ(trial.share, 1);
  }
}

TEST(TrialReport, ComparesPhysicsWithWhatTheRuleBelieves) {
  TrialRows rows = rows_of();
  const std::vector<Trial> right = trials_of(rows, [](double residual) { return residual; });
  double physics = 0;
  for (const Trial& trial : right) {
    physics += 100 * std::abs(std::expm1(-trial.residual)) / static_cast<double>(right.size());
  }
  const TrialReport alone = report_of(right, rows);
  EXPECT_NEAR(alone.before, physics, 1e-9);
  EXPECT_EQ(alone.after, alone.before);
  EXPECT_EQ(alone.believed, 0U);
  rows.places.front().same = {.c = 0, .kinds = {rows.kind.begin(), rows.kind.end()}};
  const TrialReport believed = report_of(right, rows);
  EXPECT_EQ(believed.rows, right.size());
  EXPECT_EQ(believed.units, std::size_t{kKernels});
  EXPECT_EQ(believed.believed, right.size());
  EXPECT_NEAR(believed.before, physics, 1e-9);
  EXPECT_NEAR(believed.after, 0, 1e-9);
  EXPECT_EQ(believed.worse, 0U);
  const TrialReport wrong = report_of(trials_of(rows, [](double r) { return -r; }), rows);
  EXPECT_GT(wrong.after, wrong.before);
  EXPECT_EQ(wrong.worse, wrong.strata);
  EXPECT_GT(wrong.worst, 1);
}

TEST(BandTrials, AreErrorsOfPhysicsAndOfTheRule) {
  TrialRows rows = rows_of();
  rows.places.front().same = {.c = 0, .kinds = {rows.kind.begin(), rows.kind.end()}};
  for (const BandTrial& trial : band_trials(trials_of(rows, [](double r) { return r; }), rows)) {
    const bool near = trial.stratum.regime == Regime::kNear;
    EXPECT_EQ(trial.stratum.place, 1U);
    EXPECT_EQ(near, std::abs(trial.error) < 1e-9);
  }
}

// Groups of two rows each: their errors are fully common, or not at all.
TEST(Correlation, IsOfErrorsWithinAGroup) {
  const TrialRows rows{.places = {{}}, .place = std::vector<std::uint32_t>(8, 0)};
  const auto correlation = [&](const std::vector<double>& residuals) {
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      trials.push_back(
          {.row = i, .residual = residuals[i], .unit = static_cast<std::uint32_t>(i / 2)});
    }
    return correlation_of(trials, rows);
  };
  EXPECT_NEAR(correlation({0.1, 0.1, -0.2, -0.2, 0.3, 0.3, 0, 0}), 1, 1e-9);
  EXPECT_EQ(correlation({0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1}), 0);
  // Means of +-s, rows b around them: MSB = 4 x 2 s^2 / (4 - 1), MSW = 8 b^2 / (8 - 4).
  const double s = 0.3, b = 0.1, msb = 8 * s * s / 3, msw = 2 * b * b;
  EXPECT_NEAR(correlation({s + b, s - b, -s + b, -s - b, s + b, s - b, -s + b, -s - b}),
              (msb - msw) / (msb + msw), 1e-9);
  EXPECT_EQ(correlation({0.1, 0.1, 0.2, 0.2}), 1);  // too few groups
}

// --- A bag's opinion combines its members'; for unseen rows, only of members that did not see
// them.

// Ten rows per group; the only feature is the group's number.
constexpr std::uint32_t kGroups = 10, kOdd = 7;
constexpr std::size_t kRows = 10;

BagRows rows_of_groups(const std::function<double(std::uint32_t group)>& residual) {
  BagRows rows;
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    for (std::size_t i = 0; i < kRows; ++i) {
      rows.residual.push_back(residual(group));
      rows.group.push_back(group);
      rows.features.push_back(static_cast<float>(group));
      rows.examples.rows.push_back({.kernel = group});
    }
  }
  return rows;
}

FittedBag fit(const BagRows& rows, const BagSpec& spec = {}, int jobs = 1) {
  std::vector<std::size_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return fit_bag(spec, rows, all, jobs);
}

std::string bytes_of(const Bag& bag) {
  std::string bytes;
  for (const learned::GbtModel& member : bag.members()) bytes += member.save();
  return bytes;
}

// Members that did not see a group cannot know what is unique to it.
TEST(FitBag, UnseenOpinionsAreOfMembersWithoutTheGroup) {
  const BagRows rows = rows_of_groups([](std::uint32_t group) { return group == kOdd ? 1.0 : 0; });
  const FittedBag fitted = fit(rows);
  std::vector<Opinion> of_all(rows.size());
  fitted.bag.ask_rows(rows.features, of_all);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(fitted.unseen[i].has_value());
    if (rows.group[i] == kOdd) {
      EXPECT_GT(of_all[i].mean, 0.4);
      EXPECT_LT(std::abs(fitted.unseen[i]->mean), 0.01);
    } else {
      EXPECT_LT(of_all[i].mean, 0.4);
    }
  }
}

TEST(FitBag, TwoMembersAreTooFewToSayWhatIsUnseen) {
  const BagRows rows = rows_of_groups([](std::uint32_t group) { return 0.1 * group; });
  for (const auto& unseen : fit(rows, {.members = 2}).unseen) EXPECT_FALSE(unseen.has_value());
}

TEST(FitBag, IsTheSameWhateverTheThreadsAndAnotherWithAnotherSeed) {
  const BagRows rows = rows_of_groups([](std::uint32_t group) { return 0.1 * group; });
  const std::string one = bytes_of(fit(rows, {}, 1).bag);
  EXPECT_EQ(one, bytes_of(fit(rows, {}, 4).bag));
  EXPECT_NE(one, bytes_of(fit(rows, {.seed = 2}).bag));
}

// Of 100 rows, the one beyond kClipped is set to the one before it.
TEST(FitBag, OneWildRowIsHeldAtTheOthers) {
  std::string fits[2];
  for (const double wild : {1.0, 50.0}) {
    BagRows rows = rows_of_groups([](std::uint32_t group) { return 0.1 * group; });
    rows.residual[kOdd * kRows] = wild;
    fits[wild == 50] = bytes_of(fit(rows).bag);
  }
  EXPECT_EQ(fits[0], fits[1]);
}

const measured::SampleSet& rows() {
  static const measured::SampleSet set = corrected_set(tpu_v3(), 8, 3, by_size, 0.02);
  return set;
}

const HybridModel& hybrid() {
  static const HybridModel model(kPhysics, fit_to(rows(), tpu_v3()).parts);
  return model;
}

Opinion opinion(const Bag& bag, const KernelQuery& query, bool with_prior = true) {
  auto priors = kPhysics.estimate({&query, 1}, tpu_v3());
  if (!with_prior) priors.front().reset();
  Opinion said{1, 1};
  bag.ask({&query, 1}, tpu_v3(), priors, {&said, 1});
  return said;
}

TEST(Bag, SaysMeanAndDeviationOfItsMembers) {
  const Bag& bag = hybrid().parts().bag;
  const KernelQuery query = query_of(rows(), 4);
  const auto priors = kPhysics.estimate({&query, 1}, tpu_v3());
  std::vector<float> features(bag.features().width());
  bag.features().extract({&query, 1}, tpu_v3(), priors, features);
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(bag.members().size());
  for (const learned::GbtModel& member : bag.members()) {
    float said = 0;
    member.predict(features, {&said, 1});
    sum += double{said} / n;
    squares += double{said} * double{said} / n;
  }
  const Opinion said = opinion(bag, query);
  EXPECT_NEAR(said.mean, sum, 1e-9);
  EXPECT_NEAR(said.deviation, std::sqrt(squares - sum * sum), 1e-6);
}

TEST(Bag, HasNoOpinionWithoutMembersOrPhysics) {
  for (const Opinion& said : {opinion(Bag(), query_of(rows(), 4)),
                              opinion(hybrid().parts().bag, query_of(rows(), 4), false)}) {
    EXPECT_EQ(said.mean, 0);
    EXPECT_EQ(said.deviation, 0);
  }
}

// Tile features also apply to the tile that the analytical model chooses.
TEST(Bag, SeesOneTileWhoeverChoseIt) {
  using learned::FeatureGroup;
  const HybridModel tiles(
      kPhysics, fit_to(rows(), tpu_v3(),
                       {.name = "tiles", .features = {{FeatureGroup::kPrior, FeatureGroup::kTile}}})
                    .parts);
  const KernelQuery chosen{rows().works.front().parts.front().kernel};
  const analytical::TileConfig tile = ask(kPhysics, chosen, tpu_v3()).tile;
  const Opinion said = opinion(tiles.parts().bag, chosen);
  EXPECT_NE(said.mean, 0);
  EXPECT_EQ(said.mean, opinion(tiles.parts().bag, {chosen.kernel, &tile}).mean);
}

TEST(Bag, DriversAreFeaturesWithoutWhichItSaysSomethingElse) {
  const KernelQuery query = query_of(rows(), 4);
  const auto priors = kPhysics.estimate({&query, 1}, tpu_v3());
  const std::vector<Driver> drivers = hybrid().parts().bag.effects(query, tpu_v3(), priors, 3);
  ASSERT_FALSE(drivers.empty());
  EXPECT_LE(drivers.size(), 3U);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    EXPECT_TRUE(drivers[i].feature.starts_with("prior.")) << drivers[i].feature;
    EXPECT_NE(drivers[i].effect, 0);
  }
  EXPECT_TRUE(std::ranges::is_sorted(drivers, std::ranges::greater{},
                                     [](const Driver& one) { return std::abs(one.effect); }));
}

// --- The weight of an opinion, determined from trials.

constexpr std::string_view kAnyKind = "loop_fusion bound by memory";

// `units` groups of `rows` trials each, with error `residual` and opinion `said`.
std::vector<Trial> trials_of(std::uint32_t units, int rows, double residual, Opinion said,
                             const std::string& kind = std::string(kAnyKind)) {
  static std::uint32_t next = 0;
  std::vector<Trial> trials;
  for (std::uint32_t unit = 0; unit < units; ++unit, ++next) {
    for (int row = 0; row < rows; ++row) {
      trials.push_back({.residual = residual, .said = said, .unit = next, .kind = kind});
    }
  }
  return trials;
}

std::vector<Trial> operator+(std::vector<Trial> a, const std::vector<Trial>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Shrinkage, BelievesTheShareOfTheMeanThatTheDeviationLeaves) {
  for (const double c : kFactors) {
    for (const double m : {-0.7, 0.02, 0.3}) {
      for (const double s : {0.0, 0.1, 2.0}) {
        const double k = c == kPhysicsAlone ? 0 : m * m / (m * m + c * s * s);
        const Shrinkage rule{.c = c, .kinds = {std::string(kAnyKind)}};
        EXPECT_DOUBLE_EQ(rule.weight({m, s}, kAnyKind), k) << c;
        EXPECT_EQ(rule.weight({m, s}, "a kind never tried"), 0);
      }
    }
    EXPECT_EQ((Shrinkage{.c = c, .kinds = {std::string(kAnyKind)}}.weight({0, 0}, kAnyKind)), 0);
  }
}

TEST(Shrinkage, AKindOfFewGroupsGoesWithItsClass) {
  const std::string few = "loop_fusion bound by units", other = "dot bound by matrix";
  const auto gained = trials_of(20, 1, 0.5, {0.5, 0});
  const Shrinkage rule = choose_shrinkage(gained + trials_of(2, 1, 0.5, {0.5, 0}, few) +
                                          trials_of(2, 1, 0.5, {0.5, 0}, other));
  EXPECT_TRUE(rule.kinds.contains(few));
  EXPECT_FALSE(rule.kinds.contains(other));
}

TEST(Shrinkage, TheSaferOfTwoBelievesWhatBothDo) {
  const Shrinkage both = safer({.c = 1, .kinds = {"a", "b"}}, {.c = 4, .kinds = {"b", "c"}});
  EXPECT_EQ(both.c, 4);
  EXPECT_EQ(both.kinds, (std::set<std::string, std::less<>>{"b"}));
}

TEST(Shrinkage, AKindThatLostIsPhysicsAlone) {
  const std::string lost = "matmul bound by matrix";
  const Shrinkage rule =
      choose_shrinkage(trials_of(20, 1, 0.5, {0.5, 0}) + trials_of(6, 1, 0.1, {-0.1, 0}, lost));
  EXPECT_EQ(rule.c, 0);
  EXPECT_EQ(rule.kinds, (std::set<std::string, std::less<>>{std::string(kAnyKind)}));
  EXPECT_EQ(rule.weight({0.5, 0}, lost), 0);
  EXPECT_EQ(rule.weight({0.5, 0}, kAnyKind), 1);
}

TEST(ChooseShrinkage, BelievesAllWhereEveryOpinionWasRight) {
  EXPECT_EQ(choose_shrinkage(trials_of(kLeastUnits, 2, 0.3, {0.3, 0.2})).c, 0);
}

TEST(ChooseShrinkage, IsPhysicsAloneWithoutGain) {
  EXPECT_EQ(choose_shrinkage({}).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(20, 1, 0, {0.1, 0.1})).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(kLeastUnits - 1, 9, 0.3, {0.3, 0})).c, kPhysicsAlone);
}

// A gain of 1 in one group of ten: a mean of 0.1 with a standard error of 0.1. Smaller gains do not
// count.
TEST(ChooseShrinkage, AsksForMoreGainThanItsStandardError) {
  const auto with_losers = [](double loss) {
    return choose_shrinkage(trials_of(1, 1, 1, {1, 0}) + trials_of(9, 1, 0, {loss, 0}));
  };
  EXPECT_EQ(with_losers(0.01).c, kPhysicsAlone);
  EXPECT_EQ(with_losers(0).c, kPhysicsAlone);
  EXPECT_EQ(choose_shrinkage(trials_of(2, 1, 1, {1, 0}) + trials_of(8, 1, 0, {0, 0})).c, 0);
}

TEST(ChooseShrinkage, EveryGroupCountsAlike) {
  EXPECT_EQ(choose_shrinkage(trials_of(1, 500, 1, {1, 0}) + trials_of(9, 1, 0, {0.3, 0})).c,
            kPhysicsAlone);
}

// Members are right when they agree, and wrong otherwise.
TEST(ChooseShrinkage, BelievesAgreementOnlyWhereThatIsWhatTells) {
  const Shrinkage rule =
      choose_shrinkage(trials_of(20, 1, 0.4, {0.4, 0.02}) + trials_of(20, 1, 0, {0.4, 0.8}));
  EXPECT_GT(rule.c, 0);
  EXPECT_LT(rule.c, kPhysicsAlone);
  EXPECT_GT(rule.weight({0.4, 0.02}, kAnyKind), 0.8);
  EXPECT_LT(rule.weight({0.4, 0.8}, kAnyKind), 0.1);
}

// The kernel's share of the time is `share`: share x exp(correction) + rest, divided by the
// measured time.
TEST(WholeError, CountsTheHostsDispatch) {
  for (const double share : {0.1, 0.5, 1.0}) {
    const Trial trial{.residual = 0.4, .share = share};
    const double measured = 1, rest = 1 - share;
    EXPECT_NEAR(whole_error(trial, 0.1), std::log((share * std::exp(0.1 - 0.4) + rest) / measured),
                1e-12);
    EXPECT_NEAR(whole_error(trial, 0.4), 0, 1e-12);
  }
}
}  // namespace
}  // namespace tilecast::hybrid
