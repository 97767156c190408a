// The rows used for trials, their groups and places, and the report.
#include "hybrid/trials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "tests/hybrid/corrected_set.h"

namespace tilecast::hybrid {
namespace {

constexpr int kKernels = 6, kTiles = 3;
const BagSpec kSpec{.features = {.groups = {learned::FeatureGroup::kPrior}, .parameters = {}}};

const measured::SampleSet& set() {
  static const measured::SampleSet made = corrected_set(tpu_v3(), kKernels, kTiles, by_size, 0.02);
  return made;
}

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

}  // namespace
}  // namespace tilecast::hybrid
