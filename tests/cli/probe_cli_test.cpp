// Tests `tilecast hw probe` on this machine, without checking the numbers.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;

class ProbeCommand : public CommandTest {};

TEST_F(ProbeCommand, WritesADeviceThatOtherVerbsTake) {
  const Json json = Json::parse(ok("hw probe --seconds 0.1 -o mine.yaml --format json").out);
  EXPECT_EQ(json.at("schema"), "tilecast.hw.probe/1");
  EXPECT_FALSE(json.at("rows").empty());
  EXPECT_THAT(read("mine.yaml"), HasSubstr("name: \"mine\""));
  ok("hw check mine.yaml");
  ok("simulate --device ./mine.yaml " + support::source_dir().string() +
     "/configs/programs/mlp_train.hlo");
}

TEST_F(ProbeCommand, NamesTheDeviceAsAsked) {
  const Answer probed = ok("hw probe --seconds 0.1 --name 'it: \"here\"' --format yaml");
  EXPECT_THAT(probed.out, HasSubstr(R"(name: "it: \"here\"")"));
}

TEST_F(ProbeCommand, RefusesATimeThatIsNone) {
  const Answer answer = run("hw probe --seconds 0");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.err, HasSubstr("--seconds"));
}

}  // namespace
}  // namespace tilecast::sim
