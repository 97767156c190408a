#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "analytical/analytical_model.h"
#include "hwdesc/device_yaml.h"
#include "sim/training/rows.h"
#include "sim/training/training.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/errors.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

using sim::training::LearnedAnswer;
using sim::training::LearnedRound;
using sim::training::LearnedRows;
using sim::training::LoadedSets;
using sim::training::NamedSplit;
using testing::HasSubstr;

constexpr const char* kHead =
    "format: tilecast.experiment/1\nname: e\nclaim: c\ndevice: tpu_v3\n"
    "data: [{name: ops, importer: set, from: set}]\n"
    "learners:\n"
    "  - {name: trees, model: xgboost, features: [static, tile], trees: 30}\n"
    "  - {name: rank, model: xgboost, features: [static, tile], objective: pairwise, trees: 30}\n"
    "columns: [analytical, trees, rank]\nmetrics: [mape, tile_tau_b]\n";

Experiment with(const std::string& split, const std::string& more = "") {
  return parse_experiment(kHead + ("split: " + split + "\n") + more, "e.yaml");
}

std::string message_of(const std::string& split, const std::string& more = "") {
  return support::error_of([&] { return with(split, more); });
}

const analytical::AnalyticalModel physics;

LoadedSets loaded(int kernels, int tiles) {
  LoadedSets sets;
  sets.devices.push_back(hwdesc::load_device("tpu_v3"));
  sets.sets.push_back(hybrid::synthetic_set(sets.devices.front(), kernels, tiles));
  sets.names.push_back("ops");
  return sets;
}

TEST(LearnedRows, AnswerEveryScoredRowTheSameEveryTime) {
  const LoadedSets sets = loaded(12, 6);
  const Experiment e = with("{kind: held_out_works, share: 25 %, seeds: 3}");
  const LearnedRows columns(physics, e, sets, 2);
  const std::vector<NamedSplit> splits = deal_rows(e, sets.sets, sets.names);
  ASSERT_EQ(splits.size(), 3U);
  for (const learned::LearnerSpec& learner : e.learners) {
    const LearnedAnswer once = columns.run(learner, splits[0].split, 0);
    const LearnedAnswer again = columns.run(learner, splits[0].split, 0);
    ASSERT_EQ(once.predicted_s.size(), splits[0].split.score.size());
    EXPECT_EQ(once.predicted_s, again.predicted_s);
    EXPECT_EQ(once.round.train_rows + once.round.validation_rows, splits[0].split.fit.size());
    for (const auto& time_s : once.predicted_s) EXPECT_GT(time_s.value(), 0);
  }
}

TEST(LearnedRows, TellWhatASearchChoseFromItsRanges) {
  const LoadedSets sets = loaded(12, 6);
  Experiment e = with("{kind: held_out_works, share: 25 %}");
  e.learners[0].search = {.trials = 4,
                          .rounds = 1,
                          .ranges = {{.parameter = "depth", .values = {"2", "3"}, .range = true},
                                     {.parameter = "trees", .values = {"7", "9"}}}};
  const LearnedRows columns(physics, e, sets, 1);
  const std::vector<NamedSplit> splits = deal_rows(e, sets.sets, sets.names);
  const LearnedRound round = columns.run(e.learners[0], splits[0].split, 0).round;
  ASSERT_EQ(round.chosen.size(), 2U);
  EXPECT_THAT(round.chosen[0], testing::AnyOf("depth 2", "depth 3"));
  EXPECT_THAT(round.chosen[1], testing::AnyOf("trees 7", "trees 9"));
  EXPECT_TRUE(columns.run(e.learners[1], splits[0].split, 0).round.chosen.empty());
}

TEST(LearnedRows, RowsOfProgramsAreNotAnsweredAndSaidSo) {
  LoadedSets sets = loaded(12, 4);
  measured::Workload& program = sets.sets[0].works[0];
  program.parts.push_back(program.parts.front());
  const Experiment e = with("{kind: held_out_works, share: 25 %}");
  const LearnedRows columns(physics, e, sets, 1);
  const measured::Split split{{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, {0, 1, 4, 5}};
  const LearnedAnswer answer = columns.run(e.learners[0], split, 0);
  EXPECT_FALSE(answer.predicted_s[0] || answer.predicted_s[1]);
  EXPECT_TRUE(answer.predicted_s[2] && answer.predicted_s[3]);
  EXPECT_THAT(columns.notes(), testing::ElementsAre(HasSubstr("4 rows are of programs")));
}

TEST(LearnedExperiments, HoldOutWholeFamiliesOrWorks) {
  LoadedSets sets = loaded(10, 4);
  for (std::size_t i = 0; i < 10; ++i) {
    sets.sets[0].works[i].family = "program " + std::to_string(i / 2);
  }
  const Experiment families = with("{kind: held_out_families, share: 20 %, seeds: 4}");
  for (const NamedSplit& named : deal_rows(families, sets.sets, sets.names)) {
    EXPECT_EQ(named.split.score.size(), 2U * 4U);
    EXPECT_EQ(named.split.fit.size(), 8U * 4U);
  }
  const Experiment works = with("{kind: held_out_works, share: 20 %, seeds: 4}");
  for (const NamedSplit& named : deal_rows(works, sets.sets, sets.names)) {
    EXPECT_EQ(named.split.score.size(), 2U * 4U);
  }
  const Experiment few = with("{kind: held_out_works, share: 20 %, rows: 7, seeds: 4}");
  const auto few_rows = deal_rows(few, sets.sets, sets.names);
  const auto all_rows = deal_rows(works, sets.sets, sets.names);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(few_rows[i].split.fit.size(), 7U);
    EXPECT_EQ(few_rows[i].split.score, all_rows[i].split.score) << "the rows scored are the same";
    EXPECT_TRUE(std::ranges::includes(all_rows[i].split.fit, few_rows[i].split.fit));
  }
  EXPECT_NE(few_rows[0].split.fit, few_rows[1].split.fit);
}

TEST(LearnedExperiments, SelectRowsByFamilyAndByTheFastestTimeOfTheirKernel) {
  LoadedSets sets = loaded(4, 2);
  for (std::size_t i = 0; i < 4; ++i) sets.sets[0].works[i].family = "f" + std::to_string(i);
  for (std::size_t i = 0; i < 8; ++i) sets.sets[0].samples[i].measured = Seconds{1e-3};
  sets.sets[0].samples[7].measured = Seconds{1e-6};  // of the last kernel
  const auto splits = deal_rows(with("{kind: fixed}",
                                     "fit: [{family: [f0, f1]}]\n"
                                     "score: [{at_least: 5 us, family: [f2, f3]}]\n"),
                                sets.sets, sets.names);
  EXPECT_EQ(splits[0].split.fit, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(splits[0].split.score, (std::vector<std::size_t>{4, 5}));
}

TEST(LearnedExperiments, AreReadStrictly) {
  const std::string split = "{kind: held_out_works, share: 20 %}";
  EXPECT_EQ(message_of(split), "no error");
  EXPECT_THAT(message_of("{kind: none}"), HasSubstr("kind none, but there are learners"));
  EXPECT_THAT(message_of("{kind: sampled_rows}"), HasSubstr("rows is missing"));
  EXPECT_THAT(message_of(split, "bars: [{metric: mape, column: rank, at_most: 6 %}]\n"),
              HasSubstr("rank only ranks the tiles of a kernel; it has no mape"));
  EXPECT_THAT(message_of(split,
                         "directions: [{better: trees, than: tree, metric: mape, "
                         "finding: x}]\n"),
              HasSubstr("got 'tree', expected one of the columns: analytical, trees, rank"));
  EXPECT_THAT(message_of(split,
                         "published: [{column: rank, metric: tile_size_ape, "
                         "source: kaufman_mlsys_2020, where: Table 3, subject: vanilla, "
                         "in: mean}]\n"),
              HasSubstr("did you mean 'kaufman_mlsys_2021'?"));
  const Experiment e = with(split,
                            "published: [{column: rank, metric: tile_size_ape, source: "
                            "kaufman_mlsys_2021, where: Table 3, subject: vanilla, in: "
                            "mean}]\n");
  EXPECT_DOUBLE_EQ(e.published.at(0).row.value, 6.8);
}

TEST(Directions, TheTIntervalIsStudents) {
  EXPECT_FALSE(t_interval(std::vector<double>{1, 2}).has_value());
  // Mean 2, standard error 1 / sqrt(3), t(0.975; 2) = 4.302653.
  const measured::Interval interval = t_interval(std::vector<double>{1, 2, 3}).value();
  EXPECT_NEAR(interval.low, 2 - 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(interval.high, 2 + 4.302653 / std::sqrt(3.0), 1e-5);
}

TEST(Directions, AgreeOrDisagreeWhereTheDifferencesExcludeZero) {
  const Experiment e = with("{kind: held_out_works, share: 20 %, seeds: 3}",
                            "directions:\n"
                            "  - {better: trees, than: analytical, metric: mape, finding: a}\n"
                            "  - {better: analytical, than: trees, metric: mape, finding: b}\n"
                            "  - {better: trees, than: rank, metric: tile_tau_b, finding: c}\n");
  ResultStratum all;
  all.cells.assign(3, std::vector<Cell>(measured::kNamedMetricCount));
  const auto cell = [&](std::size_t column, measured::Metric metric) -> Cell& {
    return all.cells[column][static_cast<std::size_t>(metric)];
  };
  cell(0, measured::Metric::kMape).by_seed = {0.30, 0.21, 0.40};
  cell(1, measured::Metric::kMape).by_seed = {0.20, 0.10, 0.31};
  cell(1, measured::Metric::kTileTau).by_seed = {0.9, 0.5, 0.7};
  cell(2, measured::Metric::kTileTau).by_seed = {0.5, 0.9, 0.7};
  const std::vector<ResultStratum> strata{all};
  const std::vector<DirectionResult> results = check_directions(e, strata);
  EXPECT_EQ(results[0].verdict, DirectionResult::Verdict::kAgrees);
  EXPECT_EQ(results[1].verdict, DirectionResult::Verdict::kDisagrees);
  EXPECT_EQ(results[2].verdict, DirectionResult::Verdict::kUndecided);
}

}  // namespace
}  // namespace tilecast::validation
