// Tests hybrids with every verb: fitted by `train` to invented measurements, then used by simulate,
// explain, tiles, compare and evaluate, by folder and as a shipped model.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kDot =
    "HloModule near\n\nENTRY main {\n  a = bf16[1024,3072]{1,0} parameter(0)\n"
    "  b = bf16[3072,3072]{1,0} parameter(1)\n"
    "  ROOT d = bf16[1024,3072]{1,0} dot(a, b), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n}\n";

// A kernel unlike any measured one.
constexpr const char* kTranspose =
    "HloModule far\n\nENTRY main {\n  a = f32[512,1024]{1,0} parameter(0)\n"
    "  ROOT t = f32[1024,512]{1,0} transpose(a), dimensions={1,0}\n}\n";

// Products of matrices that take at least 1.3 times the analytical time, increasing with size.
class HybridCommand : public CommandTest {
 protected:
  HybridCommand() {
    setenv("TILECAST_MODELS", "shelf", 1);
    write("shelf/README", "folders of models\n");
    write_manifest();
    std::string rows = "op,dtype,m,n,k,runtime_ns\n";
    for (int i = 1; i <= 24; ++i) {
      const int size = 512 * i;
      const auto time_ns = static_cast<long>(8730.0 * i * i * (1.3 + 0.03 * i) + 8000);
      rows += "matmul,bf16,1024," + std::to_string(size) + "," + std::to_string(size) + "," +
              std::to_string(time_ns) + "\n";
    }
    write("set/measurements.csv", rows);
    write("e.yaml",
          "format: tilecast.experiment/1\nname: e\nclaim: It learns.\ndevice: tpu_v3\n"
          "data: [{name: made up, importer: set, from: ./set}]\n"
          "split: {kind: held_out_works, share: 25 %, seeds: 2}\n"
          "hybrids: [{name: hybrid}]\n"
          "columns: [analytical, hybrid]\nmetrics: [mape]\n");
    write("near.hlo", kDot);
    write("far.hlo", kTranspose);
  }
  ~HybridCommand() override { unsetenv("TILECAST_MODELS"); }

  Answer fit(const std::string& folder, const std::string& more = "") const {
    Answer answer = tilecast("train e.yaml --learner hybrid --out " + folder + " " + more);
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    return answer;
  }
  void expect_error(const std::string& arguments, int exit_code, const std::string& message) const {
    const Answer answer = tilecast(arguments);
    EXPECT_EQ(answer.exit_code, exit_code) << arguments << "\n" << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(answer.out, "") << arguments;
  }
  // Runs the command and expects success.
  std::string ask(const std::string& arguments) const {
    const Answer answer = tilecast_ok(arguments);
    return answer.out;
  }
};

TEST_F(HybridCommand, TrainFitsAHybridAndTellsItsHeldOutErrorsBesidePhysics) {
  EXPECT_THAT(ask("train e.yaml --learner hybrid --dry-run"),
              HasSubstr("would fit hybrid: a bag of 12 times trees on what physics leaves"));
  const Json json = Json::parse(fit("m", "-f json").out);
  EXPECT_EQ(json["schema"], "tilecast.train/1");
  EXPECT_EQ(json["name"], "hybrid");
  EXPECT_EQ(json["trials"]["left_out"], "groups");
  EXPECT_GT(json["trials"]["rows_corrected"], 9);
  EXPECT_LT(json["trials"]["mape"], json["trials"]["mape_physics"]);
  EXPECT_EQ(json["data"][0]["train"], 18);
  EXPECT_EQ(json["data"][0]["test"], 6);
  double analytical = 0, hybrid = 1;
  for (const Json& metric : json["metrics"]) {
    if (metric["metric"] != "mape") continue;
    if (metric["model"] == "analytical") analytical = metric["value"];
    if (metric["model"] == "hybrid") hybrid = metric["value"];
  }
  EXPECT_LT(hybrid, analytical);
  const std::string card = read("m/model.yaml");
  EXPECT_THAT(card, HasSubstr("hybrid: yes"));
  EXPECT_THAT(card, HasSubstr("coverage_90"));
  EXPECT_THAT(card, HasSubstr(json["data"][0]["hash"].get<std::string>()));
  EXPECT_TRUE(exists("m/known.csv") && exists("m/bands.csv") && exists("m/device_0.yaml"));
  expect_error("train e.yaml --learner hybrid --out m", 1, "--force replaces a model");
  expect_error("train e.yaml --learner hibrid --out x", 1, "there are: hybrid");
  EXPECT_THAT(fit("m", "--force").out, HasSubstr("groups left out"));
}

TEST_F(HybridCommand, SimulateShowsFactorIntervalAndBeliefOfEveryKernel) {
  fit("m");
  const std::string text = ask("simulate -d tpu_v3 --model m near.hlo");
  EXPECT_THAT(text, HasSubstr("model     hybrid m\n"));
  EXPECT_THAT(text, HasSubstr("us  (90 %, of the time above)"));
  EXPECT_THAT(text, HasSubstr("believed  k above 0.5: 100.0 % of the time"));
  EXPECT_THAT(text, HasSubstr("x analytical [90 %] k"));
  const Json run = Json::parse(ask("simulate -d tpu_v3 --model m -f json near.hlo"))["programs"][0];
  const Json& kernel = run["kernels"][0];
  EXPECT_NEAR(kernel["analytical_s"].get<double>() * kernel["factor"].get<double>(),
              kernel["time_s"].get<double>(), 1e-12);
  EXPECT_EQ(kernel["verdict"], "in");
  EXPECT_GT(kernel["factor"], 1.1);
  EXPECT_LT(run["low_s"], run["time_s"]);
  EXPECT_GT(run["high_s"], run["time_s"]);
  EXPECT_EQ(run["believed"]["above_half"]["kernels"], 1);
  EXPECT_GT(kernel["weight"], 0.5);
  EXPECT_THAT(ask("simulate -d tpu_v3 --model m -f csv near.hlo"),
              HasSubstr(",analytical_s,factor,weight,verdict,low_s,high_s\n"));
  const std::string far = ask("simulate -d tpu_v3 --model m far.hlo");
  EXPECT_THAT(far, HasSubstr("0 (physics alone): 100.0 %\n"));
  EXPECT_THAT(far, HasSubstr("x 1.00 ["));
}

TEST_F(HybridCommand, ExplainTellsWhatMeasurementsChangedAndWhy) {
  fit("m");
  const std::string text = ask("explain -d tpu_v3 --model m near.hlo");
  for (const char* part :
       {"model           hybrid m", "analytical      ", "correction      x ", "90 % interval   ",
        "where           among the kernels of made up", "nearest         matmul"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const Json json = Json::parse(ask("explain -d tpu_v3 --model m -f json near.hlo"));
  const Json& correction = json["correction"];
  EXPECT_FALSE(correction["nearest"].empty());
  EXPECT_FALSE(correction["drivers"].empty());
  EXPECT_EQ(correction["factor"], json["estimate"]["factor"]);
  EXPECT_THAT(ask("explain -d tpu_v3 --model m far.hlo"),
              HasSubstr("where           away from the kernels of made up"));
}

TEST_F(HybridCommand, TilesCompareAndEvaluateTakeItToo) {
  fit("m");
  write("tiles.csv", "output_bounds\n8 8\n1 2 3\n\"\"\n");
  const std::string tiles = ask("tiles -d tpu_v3 --model m near.hlo tiles.csv");
  EXPECT_THAT(tiles, HasSubstr("reason,analytical_ns,factor,verdict,low_ns,high_ns,energy_uJ\n"));
  EXPECT_THAT(tiles, HasSubstr("output tile has 3 dimensions, this kernel has 2"));
  EXPECT_THAT(ask("tiles -d tpu_v3 near.hlo tiles.csv"), Not(HasSubstr("analytical_ns")));

  const std::string compared =
      ask("compare -d tpu_v3 --model roofline --model analytical --model m set");
  EXPECT_THAT(compared, HasSubstr("side    m: hybrid m on tpu_v3"));
  EXPECT_THAT(compared, HasSubstr("x analytical [90 %] k"));
  const Json row =
      Json::parse(ask("compare -d tpu_v3 --model analytical --model m -f json set"))["rows"][0];
  EXPECT_FALSE(row["times"][0].contains("factor"));
  EXPECT_LE(row["times"][1]["low_s"], row["times"][1]["time_s"]);
  EXPECT_GE(row["times"][1]["high_s"], row["times"][1]["time_s"]);
  EXPECT_TRUE(row["times"][1].contains("verdict"));

  const std::string scored = ask("evaluate -d tpu_v3 --model analytical --model m set");
  EXPECT_THAT(scored, HasSubstr("in 90 % interval %"));
  EXPECT_THAT(scored, HasSubstr("m: trained on rows of set made_up"));
}

TEST_F(HybridCommand, AShippedHybridIsUsedWhereItFitsAndSaysSo) {
  fit("shelf/tpu");
  const std::string text = ask("simulate -d tpu_v3 near.hlo");
  EXPECT_THAT(text, HasSubstr("model     hybrid tpu (shelf/tpu)"));
  EXPECT_EQ(ask("simulate -d tpu_v3 --model hybrid near.hlo"), text);
  EXPECT_THAT(ask("explain -d tpu_v3 near.hlo"), HasSubstr("hybrid tpu (shelf/tpu)"));
  EXPECT_THAT(ask("simulate -d tpu_v2 near.hlo"), Not(HasSubstr("hybrid")));
  expect_error("simulate -d tpu_v2 --model hybrid near.hlo", 1,
               "no shipped model fits device tpu_v2; there are: shelf/tpu (trained on tpu_v3)");
  EXPECT_THAT(ask("simulate -d tpu_v3 -d tpu_v2 near.hlo"),
              HasSubstr("analytical for all devices, so that they compare: no shipped model fits "
                        "tpu_v2"));
  EXPECT_THAT(ask("simulate -d tpu_v3 --model learned far.hlo"),
              HasSubstr("corrections are believed everywhere"));
  const Json compared = Json::parse(
      ask("compare -d tpu_v3 --model roofline --model analytical --model learned --model hybrid "
          "-f json set"));
  EXPECT_EQ(compared["sides"].size(), 5U);
  EXPECT_EQ(compared["sides"][3]["model"], "hybrid tpu (shelf/tpu)");
}

TEST_F(HybridCommand, WithoutAShippedModelPhysicsAnswers) {
  EXPECT_EQ(ask("simulate -d tpu_v3 near.hlo"),
            ask("simulate -d tpu_v3 --model analytical near.hlo"));
  EXPECT_EQ(ask("explain -d tpu_v3 near.hlo"),
            ask("explain -d tpu_v3 --model analytical near.hlo"));
  expect_error("simulate -d tpu_v3 --model hybrid near.hlo", 1, "none is shipped");
  expect_error("simulate -d tpu_v3 --model nothing near.hlo", 2, "expected analytical, roofline");
  setenv("TILECAST_MODELS", "nowhere", 1);
  expect_error("simulate -d tpu_v3 near.hlo", 1, "TILECAST_MODELS: got 'nowhere'");
}

TEST_F(HybridCommand, AFolderThatWasTamperedWithIsRefusedByEveryVerb) {
  fit("m");
  write("tiles.csv", "output_bounds\n8 8\n");
  write("m/bands.csv", read("m/bands.csv") + "\n");
  for (const std::string verb :
       {"simulate -d tpu_v3 --model m near.hlo", "explain -d tpu_v3 --model m near.hlo",
        "tiles -d tpu_v3 --model m near.hlo tiles.csv", "compare -d tpu_v3 --model m set",
        "evaluate -d tpu_v3 --model m set"}) {
    expect_error(verb, 1, "m/bands.csv: is not the file that was saved");
  }
}

}  // namespace
}  // namespace tilecast::sim
