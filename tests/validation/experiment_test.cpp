#include "validation/experiment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "sim/training/rows.h"
#include "tests/hybrid/synthetic_set.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "validation/experiment_run.h"
#include "validation/experiment_scores.h"

namespace tilecast::validation {
namespace {

namespace fs = std::filesystem;
using measured::Metric;
using sim::training::Apart;
using sim::training::ImportedData;
using sim::training::NamedSplit;
using sim::training::SplitKind;
using testing::HasSubstr;

constexpr const char* kHead =
    "format: tilecast.experiment/1\nname: e\nclaim: c\ndevice: tpu_v3\n"
    "data: [{name: ops, importer: set, from: set}]\n";
constexpr const char* kTail = "columns: [analytical, calibrated]\nmetrics: [mape]\n";

std::string message_of(const std::string& text) {
  return support::error_of([&] { return parse_experiment(text, "e.yaml"); });
}

Experiment with_split(const std::string& split, const std::string& more = "") {
  return parse_experiment(kHead + ("split: " + split + "\n") + kTail + more, "e.yaml");
}

// The described TPU v3, with slightly slower arrays and memory.
hwdesc::Device slower() {
  hwdesc::Device device = hwdesc::load_device("tpu_v3");
  device.calibration.matrix *= 0.85;
  device.calibration.memory_bandwidth *= 0.9;
  return device;
}

// A folder with a measurement set `set` of matmuls and GELUs, timed with `truth`.
class ExperimentOnDisk : public testing::Test, protected support::Folder {
 protected:
  ExperimentOnDisk() {
    write("set/manifest.yaml",
          "format: tilecast.measurements/1\nname: ops\ndevice: tpu_v3\nsource: made here\n"
          "licence: none\ntiming: device\n");
    write_rows(std::vector<double>(kRows, 1e-3));
    const measured::SampleSet samples =
        measured::make_samples(measured::read_measurement_set(at("set")),
                               hwdesc::load_device("tpu_v3"), {.check_physics = false});
    std::vector<double> times;
    for (const measured::Prediction& p :
         measured::predict(samples, analytical::AnalyticalModel(), slower())) {
      times.push_back(p.on_device.value);
    }
    write_rows(times);
  }

  void write_rows(const std::vector<double>& times) const {
    std::ofstream csv(folder() / "set/measurements.csv");
    csv << "op,dtype,m,n,k,elements,runtime_ns\n";
    for (std::size_t i = 0; i < kRows; ++i) {
      const long size = 1024 + 256 * static_cast<long>(i);
      csv << (i % 2 == 0 ? fmt::format("matmul,bf16,{0},{0},{0},,", size)
                         : fmt::format("gelu,bf16,,,,{},", size * size))
          << fmt::format("{:.3f}\n", times.at(i) * 1e9);
    }
  }
  [[nodiscard]] ExperimentResult run(const std::string& split, const std::string& more = "") const {
    ImportedData data(folder().string());
    return run_experiment(with_split(split, more), data, {});
  }
  static hwdesc::Device samples_device() { return hwdesc::load_device("tpu_v3"); }
  static double value(const ExperimentResult& result, std::size_t column) {
    return result.strata.front()
        .cells[column][static_cast<std::size_t>(Metric::kMape)]
        .value.value();
  }

  static constexpr std::size_t kRows = 16;
};

TEST(ExperimentReader, NamesFileLineAndKeyOfWhatIsWrong) {
  const std::string none = "split: {kind: none}\ncolumns: [analytical]\nmetrics: [mape]\n";
  EXPECT_EQ(message_of(kHead + none), "no error");
  EXPECT_THAT(message_of("format: tilecast.experiment/2\n"), HasSubstr("e.yaml:1:1: format: got"));
  EXPECT_THAT(message_of(kHead + none + "metric: [mape]\n"), HasSubstr("did you mean 'metrics'?"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: by_moon}\n" + kTail),
              HasSubstr("e.yaml:6:9: kind: got 'by_moon', expected none, fixed, k_fold"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: k_fold, folds: 1}\n" + kTail),
              HasSubstr("folds: got '1', expected a whole number from 2"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: k_fold, share: 20 %}\n" + kTail),
              HasSubstr("share: unknown key"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: largest, share: 120 %}\n" + kTail),
              HasSubstr("share: got '120 %', expected more than 0 % and less than 100 %"));
  EXPECT_THAT(message_of(kHead + none + "bars: [{metric: mape, column: analytical}]\n"),
              HasSubstr("expected one of at_most, at_least, below"));
  EXPECT_THAT(
      message_of(kHead + none + "bars: [{metric: mape, column: calibrated, at_most: 6 %}]\n"),
      HasSubstr("column: got 'calibrated', expected one of the columns: analytical"));
  EXPECT_THAT(message_of(kHead + none + "score: [{set: other}]\n"),
              HasSubstr("no source of data is called 'other'"));
}

TEST(ExperimentReader, RefusesAFitWithoutASplitAndASplitWithoutAFit) {
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: none}\n" + kTail),
              HasSubstr("kind none, but a column is calibrated"));
  EXPECT_THAT(message_of(std::string(kHead) +
                         "split: {kind: k_fold}\ncolumns: [analytical]\nmetrics: [mape]\n"),
              HasSubstr("a split without a calibrated or scaled column, a learner or a hybrid"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: fixed}\n" + kTail),
              HasSubstr("fit is missing"));
}

TEST(ExperimentReader, ReadsSharesAndColumnsAsLimits) {
  const Experiment e = with_split("{kind: k_fold}",
                                  "bars:\n"
                                  "  - {metric: mape, column: calibrated, at_most: 6 %}\n"
                                  "  - {metric: mape, column: calibrated, below: analytical}\n");
  ASSERT_EQ(e.bars.size(), 2U);
  EXPECT_DOUBLE_EQ(e.bars[0].limit, 0.06);
  EXPECT_EQ(e.bars[1].limit_column, "analytical");
  EXPECT_EQ(e.bars[1].kind, Bar::Kind::kBelow);
}

TEST(ExperimentReader, TheBestOtherColumnOfAMeanIsRefused) {
  EXPECT_NO_THROW(with_split("{kind: k_fold}",
                             "bars: [{metric: mape, column: calibrated, below: best other}]\n"));
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: k_fold}\n" + kTail +
                         "by: [class]\nbars: [{metric: mape, column: calibrated, "
                         "stratum: mean over class, below: best other}]\n"),
              HasSubstr("the best other column of a mean is not defined"));
}

// Columns with 10 %, 4 % and 8 % error, and one without a value, which is not compared.
TEST(Bars, BetterThanTheOthersIsAgainstTheBestOfThemNotTheWeakest) {
  Experiment e = with_split("{kind: k_fold}");
  e.columns = {"roofline", "trees", "hybrid", "rank"};
  ResultStratum all{.rows = 5, .cells = {4, std::vector<Cell>(measured::kNamedMetricCount)}};
  const auto mape = static_cast<std::size_t>(Metric::kMape);
  const auto tau = static_cast<std::size_t>(Metric::kRowTau);
  for (const auto& [column, error] : {std::pair(0U, 0.10), std::pair(1U, 0.04), {2U, 0.08}}) {
    all.cells[column][mape].value = error;
    all.cells[column][tau].value = 1 - error;
  }
  const std::string best(kBestOther);
  e.bars = {{.column = "hybrid", .kind = Bar::Kind::kBelow, .limit_column = best},
            {.column = "trees", .kind = Bar::Kind::kBelow, .limit_column = best},
            {.metric = Metric::kRowTau,
             .column = "hybrid",
             .kind = Bar::Kind::kAtLeast,
             .limit_column = best}};
  const std::vector<BarResult> bars = check_bars(e, std::vector{all});
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_FALSE(bars[0].met);
  EXPECT_EQ(bars[0].limit_column, "trees");
  EXPECT_DOUBLE_EQ(bars[0].limit, 0.04);
  EXPECT_TRUE(bars[1].met);
  EXPECT_EQ(bars[1].limit_column, "hybrid");
  EXPECT_FALSE(bars[2].met);
  EXPECT_DOUBLE_EQ(bars[2].limit, 0.96);
  e.columns = {"hybrid"};
  e.bars.resize(1);
  EXPECT_FALSE(check_bars(e, std::vector{all}).at(0).met);  // no other column to compare with
}

// The column is 7 % off and exact in 74 %.
TEST(Bars, OfAQuantityAreOnItsErrorAndItsExactShare) {
  constexpr const char* kFile =
      "format: tilecast.experiment/1\nname: e\nclaim: c\ndevice: tpu_v3\n"
      "data: [{name: ops, importer: set, from: set}]\n"
      "split: {kind: held_out_works, share: 20 %}\n"
      "learners: [{name: trees, model: xgboost, features: [static], target: vector_registers}]\n"
      "columns: [trees]\nmetrics: [rmse_of_range, exact]\nbars:\n";
  const auto read = [](const std::string& bars) {
    return parse_experiment(kFile + bars, "e.yaml");
  };
  const Experiment e = read(
      "  - {metric: rmse_of_range, column: trees, at_most: 7 %}\n"
      "  - {metric: exact, column: trees, at_least: 75 %}\n");
  ResultStratum all{.rows = 5, .cells = {1, std::vector<Cell>(measured::kNamedMetricCount)}};
  all.cells[0][static_cast<std::size_t>(Metric::kRmseOfRange)].value = 0.07;
  all.cells[0][static_cast<std::size_t>(Metric::kExact)].value = 0.74;
  const std::vector<BarResult> bars = check_bars(e, std::vector{all});
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_TRUE(bars[0].met);
  EXPECT_FALSE(bars[1].met);
  EXPECT_TRUE(more_is_better(Metric::kExact) && more_is_better(Metric::kRowSpearman));
  EXPECT_FALSE(more_is_better(Metric::kRmseOfRange));
  EXPECT_THROW(read("  - {metric: mape, column: trees, at_most: 7 %}\n"), Error);
}

TEST(ExperimentSplits, FittedAndScoredRowsMustBeDisjointByRowAndByKernel) {
  // Two kernels with three tiles each: rows 0 to 2 and 3 to 5.
  const std::vector<measured::SampleSet> sets{
      hybrid::synthetic_set(hwdesc::load_device("tpu_v3"), 2, 3)};
  EXPECT_NO_THROW(require_disjoint({{0, 1, 2}, {3, 4, 5}}, sets, Apart::kWorks, "e"));
  EXPECT_THROW(require_disjoint({{0, 1, 2}, {2, 3}}, sets, Apart::kRows, "e"), Error);
  EXPECT_THROW(require_disjoint({{0, 1}, {2, 3}}, sets, Apart::kWorks, "e"), Error);
  EXPECT_NO_THROW(require_disjoint({{0, 1}, {2, 3}}, sets, Apart::kRows, "e"));
}

TEST(ExperimentSplits, ASelectionThatFitsAndScoresOneKernelIsAnError) {
  const std::vector<measured::SampleSet> sets{
      hybrid::synthetic_set(hwdesc::load_device("tpu_v3"), 4, 3)};
  const std::vector<std::string> names{"ops"};
  const auto splits = [&](const std::string& more) {
    return deal_rows(with_split("{kind: fixed}", more), sets, names);
  };
  const std::vector<NamedSplit> rest = splits("fit: [{kernel: [sum 0, sum 1]}]\n");
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].split.fit, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(rest[0].split.score, (std::vector<std::size_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_THROW(splits("fit: [{kernel: sum 0}]\nscore: [{kernel: 'sum *'}]\n"), Error);
  EXPECT_THROW(splits("fit: [{kernel: sum 9}]\n"), Error);
}

TEST(ExperimentSplits, SeedsAreDeterministicAndDiffer) {
  const std::vector<measured::SampleSet> sets{
      hybrid::synthetic_set(hwdesc::load_device("tpu_v3"), 8, 2)};
  const std::vector<std::string> names{"ops"};
  const Experiment e = with_split("{kind: sampled_works, works: 3, seeds: 6}");
  const std::vector<NamedSplit> once = deal_rows(e, sets, names);
  const std::vector<NamedSplit> again = deal_rows(e, sets, names);
  ASSERT_EQ(once.size(), 6U);
  std::set<std::vector<std::size_t>> different;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].split.fit, again[i].split.fit);
    EXPECT_EQ(once[i].split.fit.size(), 3U * 2U);
    EXPECT_EQ(once[i].split.score.size(), 5U * 2U);
    different.insert(once[i].split.fit);
  }
  EXPECT_GT(different.size(), 1U);
}

TEST(ExperimentSplits, AFamilyIsScoredByKernelsOfOthersEqualWorkLeftOut) {
  std::vector<measured::SampleSet> sets{hybrid::synthetic_set(hwdesc::load_device("tpu_v3"), 9, 2)};
  for (std::size_t i = 0; i < 9; ++i) {
    sets[0].works[i].family = "program " + std::to_string(i / 3);
  }
  sets[0].works[8].fingerprint = sets[0].works[0].fingerprint;  // in two programs
  const std::vector<std::string> names{"ops"};
  const std::vector<NamedSplit> splits =
      deal_rows(with_split("{kind: leave_one_family_out, works: 4}"), sets, names);
  ASSERT_EQ(splits.size(), 3U);
  std::vector<int> scored(9 * 2, 0);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    EXPECT_EQ(splits[i].name, "without program " + std::to_string(i));
    std::set<std::string> fitted;
    for (const std::size_t row : splits[i].split.fit) {
      fitted.insert(sets[0].works[sets[0].samples[row].work].fingerprint);
    }
    EXPECT_EQ(fitted.size(), 4U);
    EXPECT_EQ(splits[i].split.score.size(), 3U * 2U);
    for (const std::size_t row : splits[i].split.score) {
      EXPECT_FALSE(fitted.contains(sets[0].works[sets[0].samples[row].work].fingerprint));
      ++scored.at(row);
    }
  }
  EXPECT_THAT(scored, testing::Each(1));
}

TEST(ExperimentSplits, SampledRowsAreAboutOneKernel) {
  const std::vector<measured::SampleSet> sets{
      hybrid::synthetic_set(hwdesc::load_device("tpu_v3"), 2, 12)};
  const std::vector<std::string> names{"ops"};
  EXPECT_THROW(deal_rows(with_split("{kind: sampled_rows, rows: 4}"), sets, names), Error);
  const Experiment e = with_split("{kind: sampled_rows, rows: 4}",
                                  "fit: [{kernel: sum 1}]\nscore: [{kernel: sum 1}]\n");
  const std::vector<NamedSplit> splits = deal_rows(e, sets, names);
  EXPECT_EQ(splits.at(0).split.fit.size(), 4U);
  EXPECT_EQ(splits.at(0).split.score.size(), 8U);
}

TEST_F(ExperimentOnDisk, EveryRowIsScoredOnceOverFoldsAndAFitOfASlowerMachineHelps) {
  const ExperimentResult result =
      run("{kind: k_fold, folds: 4}",
          "by: [class]\nbars: [{metric: mape, column: calibrated, below: analytical}]\n");
  EXPECT_EQ(result.rounds.size(), 4U);
  EXPECT_EQ(result.strata.front().rows, kRows);
  EXPECT_EQ(result.strata.size(), 3U);  // all, gelu, matmul
  EXPECT_LT(value(result, 1), value(result, 0));
  ASSERT_EQ(result.bars.size(), 1U);
  EXPECT_TRUE(result.bars[0].met);
  EXPECT_DOUBLE_EQ(result.bars[0].value.value(), value(result, 1));
  EXPECT_DOUBLE_EQ(result.bars[0].limit, value(result, 0));
}

// The analytical model is twice too fast for products and three times for GELUs, according to their
// default rows.
TEST_F(ExperimentOnDisk, PhysicsIsScaledByClassWithDefaultRowsOfTheScoredPrograms) {
  const measured::SampleSet samples =
      measured::make_samples(measured::read_measurement_set(at("set")),
                             hwdesc::load_device("tpu_v3"), {.check_physics = false});
  std::ofstream csv(folder() / "set/measurements.csv");
  csv << "op,dtype,m,n,k,elements,runtime_ns,family,x_name\n";
  std::size_t i = 0;
  for (const measured::Prediction& p :
       measured::predict(samples, analytical::AnalyticalModel(), samples_device())) {
    const long size = 1024 + 256 * static_cast<long>(i);
    const bool product = i % 2 == 0;
    csv << (product ? fmt::format("matmul,bf16,{0},{0},{0},,", size)
                    : fmt::format("gelu,bf16,,,,{},", size * size))
        << fmt::format("{:.6f},{},net.c{}.k\n", p.on_device.value * 1e9 * (product ? 2 : 3),
                       i < 8 ? "one" : "two", i < 4 ? 0 : 1);
    ++i;
  }
  csv.close();
  ImportedData data(folder().string());
  const std::string scored = std::string(kHead) +
                             "split: {kind: none}\ncolumns: [analytical, analytical_scaled]\n"
                             "metrics: [mape]\nby: [family]\n";
  const ExperimentResult result = run_experiment(
      parse_experiment(scored + "default: {column: x_name, like: [\"*.c0.*\"]}\n", "e.yaml"), data,
      {});
  EXPECT_NEAR(value(result, 0), (0.5 + 2. / 3) / 2, 1e-3);
  EXPECT_LT(value(result, 1), 1e-3);
  EXPECT_THAT(result.rounds.front().scaled,
              testing::ElementsAre("gelu x 3.00 (2 rows)", "matmul x 2.00 (2 rows)",
                                   HasSubstr("others x 2.")));
  std::vector<std::string> titles;
  for (const ResultStratum& stratum : result.strata) titles.push_back(stratum.title());
  EXPECT_THAT(titles, testing::ElementsAre("all", "family one", "family two"));
  const ExperimentResult none = run_experiment(
      parse_experiment(scored + "default: {column: x_name, like: [\"*.c7.*\"]}\n", "e.yaml"), data,
      {});
  EXPECT_EQ(value(none, 0), value(none, 1)) << "no default rows: as physics says";
}

// Others' estimates stand in the set: here the measured times' ranks, and one cell is empty.
TEST_F(ExperimentOnDisk, AColumnOfTheSetIsScoredOnTheRowsThatHaveIt) {
  std::ofstream(folder() / "set/measurements.csv")
      << "op,dtype,elements,runtime_ns,x_said\ngelu,bf16,1000000,20000,1\n"
         "gelu,bf16,2000000,40000,2\ngelu,bf16,3000000,60000,3\ngelu,bf16,4000000,80000,\n";
  ImportedData data(folder().string());
  const ExperimentResult result = run_experiment(
      parse_experiment(std::string(kHead) +
                           "split: {kind: none}\nothers: {they: x_said}\n"
                           "columns: [analytical, they]\nmetrics: [mape, row_tau_b]\n",
                       "e.yaml"),
      data, {});
  EXPECT_EQ(result.strata.front().rows, 3U);
  EXPECT_EQ(result.strata.front().rows_measured, 4U);
  const std::vector<Cell>& they = result.strata.front().cells[1];
  EXPECT_FALSE(they[static_cast<std::size_t>(Metric::kMape)].value) << "their unit is not time";
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: none}\nothers: {they: x_said}\n"
                                              "columns: [analytical]\nmetrics: [mape]\n"),
              HasSubstr("the estimate 'they' is missing"));
}

TEST(ExperimentReader, AScaledColumnAndItsDefaultRowsComeTogether) {
  const std::string none = std::string(kHead) + "split: {kind: none}\nmetrics: [mape]\n";
  EXPECT_THAT(message_of(none + "columns: [analytical_scaled]\n"),
              HasSubstr("e.yaml:8:1: columns: expected both the column analytical_scaled"));
  EXPECT_THAT(message_of(none + "columns: [analytical]\ndefault: {column: x, like: [a]}\n"),
              HasSubstr("default: expected both"));
}

// The rows of TPU v2 match its description, those of TPU v3 are from a slower machine.
TEST_F(ExperimentOnDisk, EachOfSeveralDevicesIsCalibratedOnItsOwnRows) {
  fs::copy(folder() / "set", folder() / "v2", fs::copy_options::recursive);
  std::ofstream(folder() / "v2/manifest.yaml")
      << "format: tilecast.measurements/1\nname: v2\ndevice: tpu_v2\nsource: made here\n"
         "licence: none\ntiming: device\n";
  const Experiment e = parse_experiment(
      "format: tilecast.experiment/1\nname: e\nclaim: c\n"
      "data:\n  - {name: v2, importer: set, from: v2, devices: [tpu_v2]}\n"
      "  - {name: v3, importer: set, from: set, devices: [tpu_v3]}\n"
      "split: {kind: held_out_works, share: 25 %, seed: 1}\nby: [set]\n" +
          std::string(kTail),
      "e.yaml");
  ImportedData data(folder().string());
  const ExperimentResult result = run_experiment(e, data, {});
  ASSERT_EQ(result.strata.size(), 3U);  // all, v2, v3
  const auto mape = [&](std::size_t stratum, std::size_t column) {
    return result.strata[stratum].cells[column][static_cast<std::size_t>(Metric::kMape)].value;
  };
  EXPECT_LT(mape(2, 1).value(), 0.5 * mape(2, 0).value());
  ASSERT_FALSE(result.rounds.front().changed.empty());
  for (const std::string& changed : result.rounds.front().changed) {
    EXPECT_THAT(changed, HasSubstr("tpu_v"));
  }
}

TEST_F(ExperimentOnDisk, SizesAreStrataWhoseTotalsCanHaveBars) {
  const ExperimentResult result = run(
      "{kind: k_fold, folds: 4}",
      "by: [size]\nbars:\n"
      "  - {metric: total_ratio, column: analytical, stratum: size at least 5 us, at_least: 0.99}\n"
      "  - {metric: total_ratio, column: analytical, stratum: size at least 5 us, at_most: 1.1}\n");
  ASSERT_EQ(result.strata.size(), 2U);  // all, at least 5 us
  EXPECT_EQ(result.strata[1].rows, kRows);
  ASSERT_EQ(result.bars.size(), 2U);
  EXPECT_FALSE(result.bars[0].met);  // the machine is slower than its description
  EXPECT_TRUE(result.bars[1].met);
  EXPECT_THAT(message_of(std::string(kHead) + "split: {kind: k_fold}\n" + kTail +
                         "bars: [{metric: total_ratio, column: calibrated, not_above: analytical, "
                         "by: 1 %}]\n"),
              HasSubstr("is about errors; got total_ratio"));
}

TEST_F(ExperimentOnDisk, TheWorstOfSeveralSeedsIsAtLeastTheirMean) {
  const ExperimentResult result = run("{kind: sampled_works, works: 8, seeds: 3}");
  const Cell& cell = result.strata.front().cells[1][static_cast<std::size_t>(Metric::kMape)];
  EXPECT_GE(cell.worst.value(), cell.value.value());
  EXPECT_FALSE(cell.interval.has_value());
  EXPECT_EQ(result.rounds.size(), 3U);
}

TEST_F(ExperimentOnDisk, ABarOnAStratumThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  EXPECT_THAT(support::error_of([&] {
                return run("{kind: largest, share: 25 %}",
                           "bars: [{metric: mape, column: calibrated, stratum: class softmax, "
                           "at_most: 6 %}]\n");
              }),
              HasSubstr("no stratum is called 'class softmax'; there are: all"));
}

TEST_F(ExperimentOnDisk, AProgramAndItsTimeBecomeASetOfOneRow) {
  std::ofstream(folder() / "step.hlo")
      << "HloModule step\n\nENTRY main {\n  a = f32[1024,1024] parameter(0)\n"
         "  b = f32[1024,1024] negate(a)\n  ROOT c = f32[1024,1024] tanh(b)\n}\n";
  ImportedData data(folder().string());
  const Experiment e = parse_experiment(
      "format: tilecast.experiment/1\nname: e\nclaim: c\ndevice: tpu_v3\n"
      "data: [{name: step, importer: program, from: step.hlo, runtime: 2 ms, source: made here, "
      "licence: none, how_timed: by hand}]\n"
      "split: {kind: none}\ncolumns: [analytical]\nmetrics: [geometric_bias]\n",
      "e.yaml");
  const measured::MeasurementSet set = data.read(e.data.front(), e.device);
  ASSERT_EQ(set.rows.size(), 1U);
  EXPECT_TRUE(set.rows[0].is_program);
  EXPECT_DOUBLE_EQ(set.rows[0].runtime->value, 2e-3);
  const ExperimentResult result = run_experiment(e, data, {});
  EXPECT_EQ(result.strata.front().rows, 1U);
  EXPECT_FALSE(result.rounds.at(0).fitted);
}

TEST(Experiment, LearnersExtendThoseAbove) {
  const auto learners = [](const std::string& second) {
    return "learners: [{name: a, model: xgboost, features: [static, tile], trees: 50}, " + second +
           "]\n";
  };
  const std::string head = std::string(kHead) + "split: {kind: k_fold}\n";
  const std::string tail = "columns: [analytical, a, b]\nmetrics: [mape]\n";
  const Experiment e = parse_experiment(
      head + learners("{name: b, extends: a, features: [static]}") + tail, "e.yaml");
  const auto a = learned::settings_of(e.learners.at(0));
  auto b = learned::settings_of(e.learners.at(1));
  EXPECT_EQ(b.at("trees"), "50");
  EXPECT_NE(b.at("features"), a.at("features"));
  EXPECT_THAT(message_of(head + learners("{name: b, extends: c}") + tail),
              HasSubstr("got 'c', expected the name of a learner above this one"));
}

TEST_F(ExperimentOnDisk, ExtendsAnotherOfItsFile) {
  const auto read = [&](const std::string& more, const std::string& name = "") {
    std::ofstream(at("e.yaml")) << kHead << "split: {kind: largest, share: 20 %}\nby: [class]\n"
                                << kTail << more;
    return read_experiments(at("e.yaml") + name);
  };
  const std::string more = "---\nextends: e\nname: more\nclaim: d\nsplit: {share: 40 %}\n";
  const Experiment e = read(more).at(1);
  EXPECT_EQ(e.name, "more");
  EXPECT_EQ(e.file, at("e.yaml"));
  EXPECT_EQ(e.split.kind, SplitKind::kLargest);
  EXPECT_DOUBLE_EQ(e.split.share, 0.4);
  EXPECT_EQ(e.by, std::vector{measured::Breakdown::kOpClass});
  EXPECT_EQ(read(more, "#more").at(0).name, "more");
  EXPECT_EQ(read(more, "#more").size(), 1U);
  EXPECT_EQ(read(more + "---\nextends: more\nname: chain\n").at(2).claim, "d");
  EXPECT_THROW(read(more, "#none"), Error);
  EXPECT_THROW(read("---\nextends: e\n"), Error) << "no name";
  try {
    static_cast<void>(read("---\nextends: other\nname: more\n"));
    FAIL();
  } catch (const Error& error) {
    const std::string head = std::string(kHead) + kTail;
    const auto line = std::ranges::count(head, '\n') + 4;
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("e.yaml:{}:", line)));
    EXPECT_THAT(error.what(), HasSubstr("expected the name of an experiment above this one"));
  }
}

TEST(ShippedExperiments, AllRead) {
  std::set<std::string> names;
  for (const char* folder : {"validation/experiments", "validation/models"}) {
    for (const auto& entry : fs::recursive_directory_iterator(support::source_dir() / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      for (const Experiment& e : read_experiments(entry.path().string())) {
        EXPECT_TRUE(names.insert(e.name).second) << e.name << " is there twice";
      }
    }
  }
  EXPECT_FALSE(names.empty());
}

TEST_F(ExperimentOnDisk, MissingDataIsNamed) {
  const ImportedData data(at("nowhere"));
  const auto missing = data.missing(with_split("{kind: k_fold}"));
  ASSERT_TRUE(missing.has_value());
  EXPECT_THAT(*missing, HasSubstr("nowhere/set"));
}

// --- The committed results match the current experiments: fails if a bar was changed without a
// run, or if a claim has no result.

using Json = nlohmann::json;

bool is_about(const Bar& bar, const std::string& stratum) {
  constexpr std::string_view kEvery = "every ";
  if (!bar.stratum.starts_with(kEvery)) return bar.stratum == stratum;
  return stratum.starts_with(bar.stratum.substr(kEvery.size()) + " ");
}

// The bars of the result that belong to this bar of the experiment: one per stratum.
std::size_t explained(const Bar& bar, const Json& result, std::vector<bool>& taken) {
  std::set<std::string> strata;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Json& found = result["bars"][i];
    const bool same = found["metric"] == measured::name(bar.metric) &&
                      found["column"] == bar.column &&
                      found["kind"] == kLimits[static_cast<std::size_t>(bar.kind)] &&
                      is_about(bar, found["stratum"]);
    if (!taken[i] && same) taken[i] = strata.insert(found["stratum"]).second;
  }
  return strata.size();
}

void expect_result_of(const Experiment& e, const Json& result) {
  EXPECT_EQ(result["columns"].get<std::vector<std::string>>(), e.columns) << e.name;
  ASSERT_EQ(result["metrics"].size(), e.metrics.size()) << e.name;
  for (std::size_t i = 0; i < e.metrics.size(); ++i) {
    EXPECT_EQ(result["metrics"][i], measured::name(e.metrics[i])) << e.name;
  }
  std::vector<bool> taken(result["bars"].size());
  for (const Bar& bar : e.bars) {
    EXPECT_GT(explained(bar, result, taken), 0U)
        << e.name << ": no result for a bar on " << bar.column << ", " << bar.stratum;
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_TRUE(taken[i]) << e.name << " has no such bar: " << result["bars"][i].dump();
  }
}

TEST(ResultFiles, EveryExperimentHasAResultWithItsColumnsMetricsAndBars) {
  const fs::path folder = support::source_dir() / "validation";
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string stem = entry.path().stem().string();
    files.insert(stem);
    std::ifstream file(folder / "results" / (stem + ".json"));
    ASSERT_TRUE(file) << stem << " has no results";
    std::map<std::string, Json> results;
    for (Json& result : Json::parse(file)) results.emplace(result["name"], std::move(result));
    const std::vector<Experiment> experiments = read_experiments(entry.path().string());
    EXPECT_EQ(results.size(), experiments.size()) << stem;
    for (const Experiment& e : experiments) {
      ASSERT_TRUE(results.contains(e.name)) << e.name << " has no result";
      expect_result_of(e, results.at(e.name));
    }
  }
  for (const auto& entry : fs::directory_iterator(folder / "results")) {
    EXPECT_TRUE(files.contains(entry.path().stem().string())) << entry.path();
  }
}
}  // namespace
}  // namespace tilecast::validation
