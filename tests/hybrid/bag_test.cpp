// A bag's opinion combines its members'; for unseen rows, only of members that did not see them.
#include "hybrid/bag.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hybrid/bag_fit.h"
#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

using analytical::KernelQuery;

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
    if (!fitted.unseen[i]) continue;
    if (rows.group[i] == kOdd) {
      EXPECT_GT(of_all[i].mean, 0.4);
      EXPECT_LT(std::abs(fitted.unseen[i]->mean), 0.01);
    } else {
      EXPECT_LT(of_all[i].mean, 0.4);
    }
  }
  EXPECT_TRUE(fitted.unseen[kOdd * kRows].has_value());
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

}  // namespace
}  // namespace tilecast::hybrid
