// Boosted trees learn the content of a table, with equal results for any number of threads.
#include "learned/training/gbt_trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>
#include <thread>

#include "base/error.h"
#include "tests/learned/gbt_tables.h"
#include "tests/support/errors.h"

namespace tilecast::learned {
namespace {

using ::testing::HasSubstr;

constexpr GbtObjective kObjectives[] = {GbtObjective::kLogTime, GbtObjective::kHuber,
                                        GbtObjective::kQuantile, GbtObjective::kPairwise,
                                        GbtObjective::kAllPairs};

// Mean over rows.
double pinball(const std::vector<float>& margins, const std::vector<float>& targets, double q) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double above = static_cast<double>(targets[i]) - margins[i];
    sum += above > 0 ? q * above : (q - 1) * above;
  }
  return sum / static_cast<double>(targets.size());
}

std::string refusal(const GbtTable& train, const GbtTable& validation, const GbtSpec& spec) {
  return support::error_of([&] { return train_gbt(train, validation, spec); }, "accepted");
}

std::vector<GbtRound> rounds_of(const GbtTable& train, const GbtTable& validation,
                                const GbtSpec& spec) {
  std::vector<GbtRound> rounds;
  const auto note = [&](const GbtRound& round) {
    rounds.push_back(round);
    return true;
  };
  (void)train_gbt(train, validation, spec, {.round = note});
  return rounds;
}

// Share of pairs of one group in the wrong order, with ties as half, by counting all pairs.
double share_wrong(const std::vector<float>& margins, const GbtTable& table) {
  double sum = 0, weight = 0;
  for (std::size_t first = 0; first < table.rows();) {
    std::size_t last = first;
    while (last < table.rows() && table.groups[last] == table.groups[first]) ++last;
    double wrong = 0, pairs = 0;
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t j = first; j < last; ++j) {
        if (!(table.targets[i] < table.targets[j])) continue;
        ++pairs;
        wrong += margins[i] > margins[j] ? 1 : margins[i] == margins[j] ? 0.5 : 0;
      }
    }
    if (pairs > 0) {
      sum += static_cast<double>(last - first) * wrong / pairs;
      weight += static_cast<double>(last - first);
    }
    first = last;
  }
  return sum / weight;
}

// Huber's loss, mean over rows.
double huber(const std::vector<float>& margins, const std::vector<float>& targets, double d) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double x = std::abs(static_cast<double>(targets[i]) - margins[i]);
    sum += x <= d ? x * x / 2 : d * x - d * d / 2;
  }
  return sum / static_cast<double>(targets.size());
}

// The score of a model with the usual settings.
double score_of(GbtObjective objective, const GbtModel& model, const GbtTable& table) {
  const std::vector<float> margins = predictions(model, table);
  return objective == GbtObjective::kLogTime ? rmse(margins, table.targets)
         : objective == GbtObjective::kHuber ? huber(margins, table.targets, GbtSpec().linear_above)
         : objective == GbtObjective::kQuantile
             ? pinball(margins, table.targets, GbtSpec().quantile)
             : share_wrong(margins, table);
}

TEST(GbtTrainer, LearnsAFormulaToASmallError) {
  const GbtTable train = formula_table(1, {.rows = 4000});
  const GbtTable test = formula_table(2, {.rows = 500});
  const GbtModel model = train_gbt(train, {}, {.trees = 300, .learning_rate = 0.1});
  const double deviation = rmse(std::vector<float>(test.rows(), 0), test.targets);
  EXPECT_LT(rmse(predictions(model, test), test.targets), 0.05 * deviation);
}

TEST(GbtTrainer, CanLearnItsRowsByHeart) {
  const GbtTable train = formula_table(1, {.rows = 64});
  const GbtSpec spec{.trees = 300,
                     .depth = 8,
                     .learning_rate = 0.3,
                     .subsample = 1,
                     .column_sample = 1,
                     .min_child_weight = 0,
                     .lambda = 0};
  EXPECT_LT(rmse(predictions(train_gbt(train, {}, spec), train), train.targets), 1e-3);
}

TEST(GbtTrainer, RanksWithinGroups) {
  GbtTable train = formula_table(1, {.rows = 2000});
  GbtTable test = formula_table(2, {.rows = 500});
  // Values common to a group are irrelevant for its order.
  for (GbtTable* table : {&train, &test}) {
    for (std::size_t i = 0; i < table->rows(); ++i) {
      table->targets[i] += static_cast<float>(table->groups[i] * 7919 % 100);
    }
  }
  const GbtSpec spec{.objective = GbtObjective::kPairwise, .trees = 300, .learning_rate = 0.1};
  EXPECT_LT(share_wrong(predictions(train_gbt(train, {}, spec), test), test), 0.05);
}

TEST(GbtTrainer, RanksGroupsWithMoreRowsThanPairsAreDrawnFor) {
  const GbtTable train = formula_table(1, {.rows = 1000, .group = 500});
  const GbtTable test = formula_table(2, {.rows = 200, .group = 200});
  for (const GbtObjective objective : {GbtObjective::kPairwise, GbtObjective::kAllPairs}) {
    const GbtSpec spec{.objective = objective, .trees = 100, .learning_rate = 0.2};
    EXPECT_LT(share_wrong(predictions(train_gbt(train, {}, spec), test), test), 0.05);
  }
}

TEST(GbtTrainer, AllPairsLearnHowFarRowsOfAGroupAreApart) {
  GbtTable train = formula_table(1, {.rows = 2000});
  GbtTable test = formula_table(2, {.rows = 500});
  const GbtTable plain = test;
  for (GbtTable* table : {&train, &test}) {
    for (std::size_t i = 0; i < table->rows(); ++i) {
      table->targets[i] += static_cast<float>(table->groups[i] * 7919 % 100);
    }
  }
  const GbtSpec spec{.objective = GbtObjective::kAllPairs, .trees = 300, .learning_rate = 0.1};
  std::vector<float> margins = predictions(train_gbt(train, {}, spec), test);
  // Up to a common constant: differences between groups cannot be learned from order within them.
  double off = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) off += plain.targets[i] - margins[i];
  for (float& margin : margins)
    margin += static_cast<float>(off / static_cast<double>(test.rows()));
  const double deviation = rmse(std::vector<float>(test.rows(), 0), plain.targets);
  EXPECT_LT(rmse(margins, plain.targets), 0.1 * deviation);
}

TEST(GbtTrainer, RanksAndSquaresTogetherPredictTimesInOrder) {
  const GbtTable train = formula_table(1, {.rows = 2000}), test = formula_table(2, {.rows = 500});
  const auto errors = [&](double rank_weight) {
    const GbtSpec spec{.objective = GbtObjective::kPairwise,
                       .rank_weight = rank_weight,
                       .trees = 300,
                       .learning_rate = 0.1};
    const std::vector<float> margins = predictions(train_gbt(train, {}, spec), test);
    return std::pair(rmse(margins, test.targets), share_wrong(margins, test));
  };
  const GbtSpec square{.trees = 300, .learning_rate = 0.1};
  EXPECT_EQ(errors(0).first, rmse(predictions(train_gbt(train, {}, square), test), test.targets));
  EXPECT_LT(errors(0.5).first, 0.3 * errors(1).first);
  EXPECT_LT(errors(0.5).second, 0.05);
}

TEST(GbtTrainer, AQuantileHasItsShareOfTheRowsBelow) {
  GbtTable train = formula_table(1, {.rows = 6000}), test = formula_table(2, {.rows = 3000});
  std::mt19937_64 random(3);
  for (GbtTable* table : {&train, &test}) {  // noise that no column explains
    for (float& target : table->targets) target += static_cast<float>(random() >> 40) * 0x1p-24F;
  }
  for (const double q : {0.1, 0.5, 0.9}) {
    const GbtSpec spec{.objective = GbtObjective::kQuantile,
                       .quantile = q,
                       .trees = 150,
                       .depth = 3,
                       .learning_rate = 0.15,
                       .min_child_weight = 100};
    const std::vector<float> margins = predictions(train_gbt(train, {}, spec), test);
    double below = 0;
    for (std::size_t i = 0; i < margins.size(); ++i) below += test.targets[i] < margins[i] ? 1 : 0;
    EXPECT_NEAR(below / static_cast<double>(test.rows()), q, 0.05);
  }
}

// A third of the rows is wrong by 1: squared errors move by a third, Huber's loss hardly.
TEST(GbtTrainer, WrongRowsDoNotDecideHubersLoss) {
  GbtTable train = formula_table(1, {.rows = 3000});
  const GbtTable test = formula_table(2, {.rows = 1000});
  std::mt19937_64 random(3);
  for (float& target : train.targets) target += random() % 3 == 0 ? 1.0F : 0;
  double moved[2];
  for (const GbtObjective objective : {GbtObjective::kLogTime, GbtObjective::kHuber}) {
    const GbtSpec spec{.objective = objective,
                       .trees = 200,
                       .depth = 4,
                       .learning_rate = 0.15,
                       .min_child_weight = 5};
    const std::vector<float> margins = predictions(train_gbt(train, {}, spec), test);
    double sum = 0;
    for (std::size_t i = 0; i < margins.size(); ++i) sum += margins[i] - test.targets[i];
    moved[objective == GbtObjective::kHuber] = sum / static_cast<double>(test.rows());
  }
  EXPECT_NEAR(moved[0], 1.0 / 3, 0.05);
  EXPECT_LT(std::abs(moved[1]), 0.1);
}

TEST(GbtTrainer, GivesTheSameBytesOnAnyNumberOfThreads) {
  const GbtTable train = formula_table(1, {.rows = 3000, .group = 100, .missing = 0.1});
  const GbtTable validation = formula_table(2, {.rows = 300, .missing = 0.1});
  for (const GbtObjective objective : kObjectives) {
    const GbtSpec spec{.objective = objective, .trees = 30, .subsample = 0.7, .column_sample = 0.5};
    const std::string one = train_gbt(train, validation, spec, {.threads = 1}).save();
    for (const int threads : {2, 3}) {
      EXPECT_EQ(train_gbt(train, validation, spec, {.threads = threads}).save(), one) << threads;
    }
    // Also next to another training.
    std::string beside[2];
    std::thread other([&] { beside[0] = train_gbt(train, validation, spec).save(); });
    beside[1] = train_gbt(train, validation, spec).save();
    other.join();
    EXPECT_EQ(beside[0], one);
    EXPECT_EQ(beside[1], one);
  }
}

TEST(GbtTrainer, SeedsDrawOtherRowsAndColumns) {
  const GbtTable train = formula_table(1);
  const auto bytes = [&](double rows, double columns, std::uint64_t seed) {
    return train_gbt(train, {},
                     {.trees = 5, .subsample = rows, .column_sample = columns, .seed = seed})
        .save();
  };
  EXPECT_NE(bytes(0.8, 1, 1), bytes(0.8, 1, 2));
  EXPECT_NE(bytes(1, 0.5, 1), bytes(1, 0.5, 2));
  EXPECT_EQ(bytes(1, 1, 1), bytes(1, 1, 2));
}

TEST(GbtTrainer, KeepsTheTreesUpToTheBestValidationRound) {
  GbtTable train = formula_table(1, {.rows = 100});
  const GbtTable validation = formula_table(2, {.rows = 200});
  std::mt19937_64 random(3);
  for (float& target : train.targets) target += static_cast<float>(random() % 100) / 50;
  for (const GbtObjective objective : kObjectives) {
    const GbtSpec spec{
        .objective = objective, .trees = 400, .learning_rate = 0.2, .early_stopping = 20};
    const std::vector<GbtRound> rounds = rounds_of(train, validation, spec);
    const auto best = std::ranges::min_element(rounds, {}, &GbtRound::validation);
    ASSERT_LT(rounds.size(), 400U);
    EXPECT_EQ(rounds.back().round - best->round, 20);
    const GbtModel model = train_gbt(train, validation, spec);
    EXPECT_EQ(model.trees(), best->round);
    EXPECT_NEAR(score_of(objective, model, validation), best->validation, 1e-9);
  }
}

TEST(GbtTrainer, WithoutPatienceGrowsAllTreesAndKeepsTheBest) {
  GbtTable train = formula_table(1, {.rows = 100});
  std::ranges::shuffle(train.targets, std::mt19937_64(1));
  const GbtTable validation = formula_table(2, {.rows = 100});
  const GbtSpec spec{.trees = 60, .learning_rate = 0.5, .early_stopping = 0};
  EXPECT_EQ(rounds_of(train, validation, spec).size(), 60U);
  EXPECT_LT(train_gbt(train, validation, spec).trees(), 60);
  EXPECT_EQ(train_gbt(train, {}, spec).trees(), 60);
}

TEST(GbtTrainer, NeverFitsValidationRows) {
  const GbtTable train = formula_table(1);
  const GbtTable validation = formula_table(2);
  GbtTable negated = validation;  // reversed: any fit to the training rows is worse
  for (float& target : negated.targets) target = -target;
  for (const GbtObjective objective : kObjectives) {
    const GbtSpec spec{.objective = objective, .trees = 20, .early_stopping = 0};
    const GbtModel model = train_gbt(train, validation, spec);
    const GbtModel with_negated = train_gbt(train, negated, spec);
    const auto unseen = [&](int trees) {
      return predictions(train_gbt(train, {}, {.objective = objective, .trees = trees}), train);
    };
    EXPECT_EQ(predictions(model, train), unseen(model.trees()));
    EXPECT_EQ(predictions(with_negated, train), unseen(with_negated.trees()));
    EXPECT_GT(model.trees(), 1);
    EXPECT_EQ(with_negated.trees(), 1);
  }
}

TEST(GbtTrainer, ScoresRoundsByTheModelOfThatRound) {
  const GbtTable train = formula_table(1, {.missing = 0.1});
  const GbtTable validation = formula_table(2, {.missing = 0.1});
  for (const GbtObjective objective : kObjectives) {
    const GbtSpec spec{.objective = objective, .trees = 12};
    for (const GbtRound& round : rounds_of(train, validation, spec)) {
      GbtSpec until = spec;
      until.trees = round.round;
      const GbtModel model = train_gbt(train, {}, until);
      EXPECT_NEAR(round.train, score_of(objective, model, train), 1e-9);
      EXPECT_NEAR(round.validation, score_of(objective, model, validation), 1e-9);
    }
  }
}

TEST(GbtTrainer, RowsOfNoWeightAreNotLearned) {
  const GbtTable clean = formula_table(1, {.rows = 200});
  GbtTable train = clean;
  train.weights.assign(train.rows(), 1);
  for (std::size_t i = 0; i < train.rows(); i += 2) {
    train.targets[i] = 100;
    train.weights[i] = 0;
  }
  const GbtSpec spec{.trees = 200, .learning_rate = 0.3, .subsample = 1};
  const std::vector<float> margins = predictions(train_gbt(train, {}, spec), clean);
  EXPECT_LT(*std::ranges::max_element(margins), 10);
}

TEST(GbtTrainer, ScalesWeightsToAMeanOfOne) {
  GbtTable train = formula_table(1);
  const GbtSpec spec{.trees = 5};
  const std::string plain = train_gbt(train, {}, spec).save();
  train.weights.assign(train.rows(), 0.25F);
  EXPECT_EQ(train_gbt(train, {}, spec).save(), plain);
}

TEST(GbtTrainer, GroupsWeighTheMeanOfTheirRows) {
  GbtTable train = formula_table(1);
  const GbtSpec spec{.objective = GbtObjective::kPairwise, .trees = 5};
  const std::string plain = train_gbt(train, {}, spec).save();
  std::size_t of_group = 0;
  for (std::size_t row = 0; row < train.rows(); ++row) {  // 1/2 and 3/2 in turn; the last unchanged
    of_group = row > 0 && train.groups[row] == train.groups[row - 1] ? of_group + 1 : 0;
    const bool odd_last = of_group % 2 == 0 &&
                          (row + 1 == train.rows() || train.groups[row + 1] != train.groups[row]);
    train.weights.push_back(odd_last ? 1 : of_group % 2 == 0 ? 0.5F : 1.5F);
  }
  EXPECT_EQ(train_gbt(train, {}, spec).save(), plain);
}

TEST(GbtTrainer, StopsWhenTheHookSaysSo) {
  const auto three = [](const GbtRound& round) { return round.round < 3; };
  EXPECT_EQ(train_gbt(formula_table(1), {}, {.trees = 50}, {.round = three}).trees(), 3);
}

TEST(GbtTrainer, RefusesTablesThatTeachNothing) {
  const GbtTable good = formula_table(1);
  const GbtSpec spec{.trees = 2};
  const GbtSpec ranking{.objective = GbtObjective::kPairwise, .trees = 2};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal({.columns = kFormulaColumns}, {}, spec), HasSubstr("training rows: no rows"));
  GbtTable bad = good;
  bad.values[9] = kInfinity;
  EXPECT_THAT(refusal(bad, {}, spec), HasSubstr("training rows: got inf in row 2, column 1"));
  EXPECT_THAT(refusal(good, bad, spec), HasSubstr("validation rows: got inf in row 2, column 1"));
  bad = good;
  bad.targets[7] = std::nanf("");
  EXPECT_THAT(refusal(bad, {}, spec), HasSubstr("of row 7, expected a finite number"));
  bad = good;
  bad.weights.assign(bad.rows(), 0);
  EXPECT_THAT(refusal(bad, {}, spec), HasSubstr("expected weights"));
  bad = good;
  bad.targets.assign(bad.rows(), 1);
  EXPECT_THAT(refusal(bad, {}, ranking), HasSubstr("training rows: nothing to rank"));
  EXPECT_THAT(refusal(good, bad, ranking), HasSubstr("validation rows: nothing to rank"));
}

// Rows start from their margin, so trees learn the remainder.
TEST(GbtTrainer, TreesOnMarginsLearnTheRestOfTheTarget) {
  const GbtTable plain = formula_table(1);
  GbtTable on_margins = plain;
  for (std::size_t i = 0; i < plain.rows(); ++i) {
    on_margins.margins.push_back(3 * plain.values[i * plain.columns + 3]);
    on_margins.targets[i] += on_margins.margins.back();
  }
  const GbtSpec spec{.trees = 40, .depth = 4, .learning_rate = 0.2};
  const std::vector<float> rest = predictions(train_gbt(on_margins, {}, spec), plain);
  const std::vector<float> same = predictions(train_gbt(plain, {}, spec), plain);
  EXPECT_LT(rmse(rest, plain.targets), 0.2);
  EXPECT_LT(rmse(rest, same), 0.05) << "but for rounding, the same trees";
}

TEST(GbtTrainer, MarginsInOrderLeaveNothingToRank) {
  GbtTable table = formula_table(1);
  for (const float target : table.targets) table.margins.push_back(100 * target);
  double first = 1;
  const auto report = [&](const GbtRound& round) {
    first = round.train;
    return false;
  };
  (void)train_gbt(table, {}, {.objective = GbtObjective::kPairwise, .trees = 1}, {.round = report});
  EXPECT_EQ(first, 0);
  table.margins.back() = std::nanf("");
  EXPECT_THROW((void)train_gbt(table, {}, {}), Error);
}

TEST(GbtTrainer, ParametersReadBackAsTheyAreWritten) {
  GbtSpec spec;
  std::vector<std::string> names;
  for (const Parameter<GbtSpec>& parameter : gbt_parameters().parameters()) {
    names.emplace_back(parameter.name);
    EXPECT_NE(parameter.doc, "") << parameter.name;
    const std::string usual = parameter.get(GbtSpec());
    std::vector<std::string> values = {usual};
    if (parameter.range.choices.empty()) {
      values.push_back(parameter_text(parameter.range.low));
      values.push_back(parameter_text(parameter.range.high));
    }
    for (const std::string_view choice : parameter.range.choices) values.emplace_back(choice);
    for (const std::string& value : values) {
      gbt_parameters().set(spec, parameter.name, value);
      EXPECT_EQ(parameter.get(spec), value) << parameter.name;
    }
  }
  EXPECT_THAT(
      names, ::testing::ElementsAre("objective", "rank_weight", "linear_above", "quantile", "trees",
                                    "depth", "learning_rate", "subsample", "column_sample",
                                    "min_child_weight", "lambda", "early_stopping"));
}

}  // namespace
}  // namespace tilecast::learned
