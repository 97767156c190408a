// `tilecast advise`: models are trained on rows whose times and registers follow a formula of the
// unroll factor. Checks that the formula's best factor is chosen, and that a fusion is split into
// its kernels.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/command_test.h"
#include "tests/support/csv_rows.h"
#include "tests/support/modules.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSum =
    "HloModule m\nENTRY main {\n  a = f32[512,256]{1,0} parameter(0)\n"
    "  b = f32[512,256]{1,0} parameter(1)\n"
    "  sum.1 = f32[512,256]{1,0} add(a, b)\n"
    "  ROOT twice.2 = f32[512,256]{1,0} multiply(sum.1, sum.1)\n}\n";

class AdviseCommand : public CommandTest {
 protected:
  AdviseCommand() : CommandTest("advise") {
    write("set/manifest.yaml",
          "format: tilecast.measurements/1\nname: unrolled\nsource: nobody\nlicence: none\n"
          "timing: device\ndevice: cpu_generic\n"
          "quantities: {registers: {unit: registers, count: yes}}\n");
    std::string rows = "op,dtype,elements,runtime_ns,p_unroll,q_registers\n";
    for (int i = 1; i <= 30; ++i) {
      for (const int unroll : {1, 2, 4, 8}) {
        const double time = 4e4 * i * (1 + 0.1 * std::abs(unroll - 4));
        rows += "add,f32," + std::to_string(65536 * i) + "," + std::to_string(time) + "," +
                std::to_string(unroll) + "," + std::to_string(2 * unroll) + "\n";
      }
    }
    write("set/measurements.csv", rows);
    const std::string head =
        "format: tilecast.experiment/1\nname: e\nclaim: It unrolls.\ndevice: cpu_generic\n"
        "data: [{name: unrolled, importer: set, from: ./set}]\n"
        "split: {kind: held_out_works, share: 20 %, seeds: 1}\nlearners:\n"
        "  - {name: times, model: xgboost, features: [static, parameters], parameters: [unroll],\n"
        "     trees: 60, min_child_weight: 1}\n";
    write("times.yaml", head + "columns: [analytical, times]\nmetrics: [mape]\n");
    write("registers.yaml", head +
                                "  - {name: registers, extends: times, target: registers}\n"
                                "columns: [analytical, times, registers]\nmetrics: [mape]\n");
    write("sum.hlo", kSum);
  }
  void train(const std::string& learner) {
    tilecast_ok("train " + learner + ".yaml --learner " + learner + " --out models/" + learner);
  }
  // Rows of `advise ... -f csv`.
  [[nodiscard]] std::vector<support::CsvRow> rows(const std::string& arguments) const {
    return support::csv_rows(std::istringstream(
        tilecast_ok("advise " + arguments + " -d cpu_generic --models models -f csv").out));
  }
};

TEST_F(AdviseCommand, ChoosesTheFactorWithTheShortestTime) {
  train("times");
  train("registers");
  const std::vector<support::CsvRow> table = rows("sum.hlo --unroll 1,2,4,8");
  ASSERT_EQ(table.size(), 4U);
  for (const support::CsvRow& row : table) {
    const double unroll = std::stod(row.at("unroll"));
    EXPECT_EQ(row.at("verdict"), unroll == 4 ? "best" : "");
    EXPECT_NEAR(std::stod(row.at("registers")), 2 * unroll, 0.1 * unroll + 1);
    EXPECT_GT(std::stod(row.at("estimate_ns")), 0);
  }
}

TEST_F(AdviseCommand, SaysWhatAFusionMakesOfTheKernels) {
  train("times");
  const std::vector<support::CsvRow> table = rows("sum.hlo --fuse sum.1,twice.2");
  std::map<std::string, std::size_t> of_choice;
  for (const support::CsvRow& row : table) ++of_choice[row.at("choice")];
  EXPECT_EQ(of_choice["apart"], 3U) << "two kernels and their sum";
  EXPECT_EQ(of_choice["fused"], 2U) << "one kernel and its sum";
  EXPECT_EQ(table.back().at("verdict"), "best") << "fewer bytes, one kernel";
}

TEST_F(AdviseCommand, RefusesMachinesThatItsModelsKnowNothingOf) {
  for (const std::string device : {"tpu_v3", "h100_sxm"}) {
    const Answer shipped = tilecast("advise sum.hlo --unroll 1,2 -d " + device);
    EXPECT_EQ(shipped.exit_code, 1);
    EXPECT_EQ(shipped.out, "");
    EXPECT_THAT(shipped.err, HasSubstr("advise: " + device + " is no processor; the models know"));
    EXPECT_THAT(shipped.err, HasSubstr("expected a processor (tilecast hw list"));
  }
  tilecast_ok("advise sum.hlo --unroll 1,2 -d cpu_generic");
}

TEST_F(AdviseCommand, SaysWhatIsMissing) {
  EXPECT_THAT(tilecast("advise sum.hlo -d cpu_generic").err, HasSubstr("--unroll"));
  train("registers");
  const Answer timeless = tilecast("advise sum.hlo -d cpu_generic --unroll 1 --models models");
  EXPECT_EQ(timeless.exit_code, 1);
  EXPECT_THAT(timeless.err, HasSubstr("got 1 models, none of times"));
  train("times");
  const Answer apart =
      tilecast("advise sum.hlo -d cpu_generic --fuse twice.2,sum.1 --models models");
  EXPECT_EQ(apart.exit_code, 1);
  EXPECT_THAT(apart.err, HasSubstr("no fusion of twice.2 into sum.1"));
}

// --- tilecast features: every column is explained; values of kernels.

class Features : public CommandTest {
 protected:
  Features() : CommandTest("features") { write("two.hlo", support::kTwoKernels); }

  [[nodiscard]] nlohmann::json rows(const std::string& arguments) const {
    const Answer answer = ok(arguments + " --format json");
    return nlohmann::json::parse(answer.out).at("rows");
  }
};

TEST_F(Features, WithoutAProgramEveryColumnOfEverySchemaIsExplained) {
  std::map<std::string, int> columns;  // by schema
  for (const auto& row : rows("")) {
    ++columns[row.at("schema")];
    for (const char* field : {"group", "name", "meaning"}) {
      EXPECT_FALSE(row.at(field).get<std::string>().empty()) << row;
    }
  }
  EXPECT_EQ(columns.size(), 2U) << "the table, and nodes";
  EXPECT_GT(columns["tilecast.table"], 100);
}

TEST_F(Features, GroupsAreChosenByName) {
  std::set<std::string> groups;
  for (const auto& row : rows("--group tile -g static")) groups.insert(row.at("group"));
  EXPECT_EQ(groups, (std::set<std::string>{"static", "tile"}));
  const auto statics = rows("-g static");
  ASSERT_EQ(statics.size(), 4U);
  EXPECT_EQ(statics[0].at("name"), "static.flops");
}

TEST_F(Features, AKernelsValuesStandBesideTheirMeaning) {
  const Answer answer = ok("--device tpu_v3 two.hlo --kernel doubled -g static");
  EXPECT_THAT(answer.out, HasSubstr("static.flops"));
  EXPECT_THAT(answer.out, HasSubstr("262144"));
  EXPECT_THAT(answer.out, HasSubstr("Floating-point operations"));
}

TEST_F(Features, AllKernelsAreRowsOfColumns) {
  const auto kernels = rows("-d tpu_v3 two.hlo");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].at("kernel"), "doubled");
  EXPECT_EQ(kernels[0].at("static.flops"), 1024 * 256);
  EXPECT_EQ(kernels[0].at("static.bytes_read"), 1024 * 256 * 4);
  EXPECT_EQ(kernels[1].at("ops.transposes"), 1);
  EXPECT_TRUE(kernels[0].at("tile.minor").is_null()) << "no tile was given";
  EXPECT_GT(kernels[0].at("prior.time"), 0);
  EXPECT_THAT(run("-d tpu_v3 two.hlo --format csv -g static").out,
              StartsWith("kernel,static.flops,static.bytes_read,static.bytes_written,"
                         "static.transcendentals\ndoubled,"));
}

TEST_F(Features, ATileFillsItsColumns) {
  const auto kernels = rows("-d tpu_v3 two.hlo -k doubled --tile out=32x1");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].at("tile.minor"), 128);
  EXPECT_EQ(kernels[0].at("tile.second_minor"), 32 * 8);
  EXPECT_EQ(kernels[0].at("tile.iterations"), 4 * 2);
}

TEST_F(Features, RequestsThatMeanNothingAreRefused) {
  expect_failure("two.hlo", 2, "expected --device DEVICE");
  expect_failure("--tile out=1x1", 2, "--tile needs a program");
  expect_failure("-d tpu_v3", 2, "--device needs a program");
  expect_failure("-d tpu_v3 two.hlo", 1, "2 kernels, expected one for a table");
  expect_failure("-d tpu_v3 two.hlo -k doubles", 1, "did you mean 'doubled'?");
  expect_failure("-d tpu_v3 two.hlo -g node -f csv", 2, "group 'node'");
  expect_failure("-g speed", 2, "speed");
  expect_failure("-g tile -g tile", 1, "'tile' twice");
  expect_failure("-d tpu_v3 missing.hlo", 1, "missing.hlo");
}
}  // namespace
}  // namespace tilecast::sim
