#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "sim/study/study_run.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string optimum_study(const std::string& rest, const std::string& device = "tpu_v3") {
  return "format: tilecast.study/1\nname: t\ndevices: [" + device + "]\nprograms: [" +
         (support::source_dir() / "configs/programs/mlp_train.hlo").string() +
         "]\nmodels: [analytical]\n" + rest;
}

StudyOptimum optimum_of(const std::string& text, std::size_t evaluations, bool larger = false,
                        const std::string& column = "") {
  const Study study = read_study(text, "s.yaml");
  const StudyRun run(study);
  return study_optimum(
      study, run,
      {.objective = column.empty() ? study.objectives.front() : StudyObjective{column, larger},
       .evaluations = evaluations});
}

const measured::CsvRow& best_row(const StudyOptimum& found) {
  return found.improving.rows.back();
}

double best_of(const StudyOptimum& found, std::string_view column) {
  return base::parse_number(found.table.cell(best_row(found), column)).value();
}

// Area a c + b w for a product c w of at least k: b w = a c = sqrt(a b k).
TEST(StudyOptimum, MeetsTheClosedFormOfAFormula) {
  const StudyOptimum found =
      optimum_of(optimum_study("axes:\n  clock: {range: [0.5 GHz, 4 GHz], points: 2}\n"
                               "  hbm.bandwidth: {log: [100 GB/s, 3.2 TB/s], points: 2}\n"
                               "derive: {area: 30 * clock / 1e9 + hbm.bandwidth / 2e10}\n"
                               "constraints: [clock / 1e9 * hbm.bandwidth / 1e12 >= 1]\n"
                               "objectives: [area]\n"),
                 150);
  const double a = 30, b = 50, k = 1;  // per GHz, per TB/s
  const double expected = 2 * std::sqrt(a * b * k);
  EXPECT_GE(best_of(found, "area"), expected * (1 - 1e-9));
  EXPECT_LE(best_of(found, "area"), expected * (1 + 1e-4));
  EXPECT_NEAR(best_of(found, "clock_Hz"), 1e9 * std::sqrt(b * k / a), 0.05e9);
  EXPECT_THAT(found.summary, HasSubstr("constraints active: clock / 1e9"));
  EXPECT_THAT(found.summary, HasSubstr("on a bound: none"));
  EXPECT_LE(found.table.rows.size(), 150U);
  EXPECT_EQ(found.table.cell(best_row(found), "best"), "1");
}

// The axes of docs/studies.md, wider and finer than usual.
TEST(StudyOptimum, IsAtLeastAsGoodAsAFineGridOfARealProgram) {
  const auto text = [](const std::string& clock, const std::string& bandwidth) {
    return optimum_study(
        "axes:\n  hbm.bandwidth: {log: [819 GB/s, 3.2 TB/s], points: " + bandwidth +
            "}\n  clock: {range: [1.5 GHz, 2.1 GHz], points: " + clock +
            "}\n  matrix.count: {list: [4, 5, 6, 7, 8]}\n"
            "derive: {area: 120 + 25 * matrix.count * (clock / 1.5e9)^2 + "
            "hbm.bandwidth / 2e10}\n"
            "constraints: [area <= 400]\nobjectives: [time_s]\n",
        "tpu_v5e");
  };
  const Study grid = read_study(text("13", "25"), "s.yaml");
  const StudyRun run(grid);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < run.points(); ++i) rows.push_back(run.rows(i));
  const measured::CsvTable table = run.table(rows);
  double least_s = 1;
  for (const measured::CsvRow& row : table.rows) {
    if (table.cell(row, "feasible") != "1") continue;
    least_s = std::min(least_s, base::parse_number(table.cell(row, "time_s")).value());
  }
  const StudyOptimum found = optimum_of(text("2", "2"), 200);
  EXPECT_LE(best_of(found, "time_s"), least_s);
  EXPECT_GT(best_of(found, "time_s"), least_s * 0.9);
  EXPECT_LE(best_of(found, "area"), 400);
  EXPECT_THAT(found.summary, HasSubstr("constraints active: area <= 400"));
}

TEST(StudyOptimum, TriesDevicesAndListsAsRoundedNumbers) {
  const std::string text = optimum_study(
      "axes:\n  matrix.count: {list: [1, 2, 4]}\n  clock: {range: [0.9 GHz, 1.5 GHz], points: 2}\n"
      "derive: {far: abs(matrix.count - 2) + abs(clock / 1e9 - 1.25) + hbm.bandwidth / 1e15}\n"
      "objectives: [far]\n",
      "tpu_v5e, tpu_v3");
  const StudyOptimum found = optimum_of(text, 80);
  EXPECT_EQ(found.table.cell(best_row(found), "device"), "tpu_v3");  // it has less bandwidth
  EXPECT_EQ(best_of(found, "matrix.count"), 2);
  EXPECT_NEAR(best_of(found, "clock_Hz"), 1.25e9, 1e6);
}

TEST(StudyOptimum, MaximisesWhereAMinusStandsBefore) {
  const StudyOptimum found =
      optimum_of(optimum_study("axes: {clock: {range: [0.9 GHz, 1.5 GHz], points: 2}}\n"
                               "objectives: [-clock]\n"),
                 30);
  EXPECT_EQ(best_of(found, "clock_Hz"), 1.5e9);
  EXPECT_THAT(found.summary, HasSubstr("on a bound: clock (most)"));
}

TEST(StudyOptimum, SaysWhyNothingIsFeasible) {
  const std::string axes = "axes: {clock: {range: [0.9 GHz, 1.5 GHz], points: 2}}\n";
  const std::string error = support::error_of([&] {
    return optimum_of(
        optimum_study(axes + "constraints: [clock >= 2e9, time_s > 0]\nobjectives: [time_s]\n"),
        20);
  });
  EXPECT_THAT(error, HasSubstr("none of 20 machines is feasible"));
  EXPECT_THAT(error, HasSubstr("20 break clock >= 2e9, by 25 % at least"));
  EXPECT_THAT(error, Not(HasSubstr("time_s > 0")));
  EXPECT_THROW(
      (void)optimum_of(optimum_study("axes: {clock: {list: [1 GHz]}}\nobjectives: [time_s]\n"), 20),
      UsageError);
}

TEST(StudyOptimum, IsTheSameAfterAnInterruption) {
  const Study study = read_study(
      optimum_study("axes:\n  clock: {range: [0.9 GHz, 1.5 GHz], points: 2}\n"
                    "  matrix.count: {range: [1, 8], points: 2}\n"
                    "constraints: [matrix.count * clock <= 5e9]\nobjectives: [time_s]\n"),
      "s.yaml");
  const StudyRun run(study);
  const auto journal = std::filesystem::path(::testing::TempDir()) / "study_optimum.journal";
  std::filesystem::remove(journal);
  OptimumOptions options{.objective = study.objectives.front(), .evaluations = 60};
  const StudyOptimum whole = study_optimum(study, run, options);
  options.journal = journal.string();
  std::size_t done = 0;
  options.progress = [&](std::size_t now) { done = now; };
  options.stop = [&] { return done == 23; };
  EXPECT_FALSE(study_optimum(study, run, options).complete);
  options.stop = {};
  options.resume = true;
  const StudyOptimum resumed = study_optimum(study, run, options);
  EXPECT_EQ(resumed.summary, whole.summary);
  ASSERT_EQ(resumed.table.rows.size(), whole.table.rows.size());
  for (std::size_t i = 0; i < whole.table.rows.size(); ++i) {
    EXPECT_EQ(resumed.table.rows[i].cells, whole.table.rows[i].cells);
  }
  options.seed = 2;
  EXPECT_THROW((void)study_optimum(study, run, options), Error);
}

}  // namespace
}  // namespace tilecast::sim
