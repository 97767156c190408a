// tilecast features: every column is explained; values of kernels.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command_test.h"
#include "tests/support/modules.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  EXPECT_EQ(columns.size(), 3U) << "the table, and two kinds of nodes";
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
