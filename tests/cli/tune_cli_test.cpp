// Tests `tilecast tune tiles` on an invented set and with commands that return at once.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using Json = nlohmann::json;

using ::testing::HasSubstr;

class TuneCommand : public CommandTest {
 protected:
  TuneCommand() : CommandTest("tune tiles") {
    write_manifest();
    std::string rows = "op,dtype,m,n,k,output_bounds,runtime_ns,p_unroll,p_lanes\n";
    for (int unroll = 1; unroll <= 8; ++unroll) {
      for (int lanes = 1; lanes <= 8; ++lanes) {
        const int time_ns =
            100'000 + 1'000 * ((unroll - 5) * (unroll - 5) + (lanes - 3) * (lanes - 3));
        rows += "matmul,bf16,1024,1024,1024,16 4," + std::to_string(time_ns) + "," +
                std::to_string(unroll) + "," + std::to_string(lanes) + "\n";
      }
    }
    write("set/measurements.csv", rows);
    write_product("dot.hlo", 1024, 1024, 1024, "{1,0:T(8,128)(2,1)}");
  }
};

TEST_F(TuneCommand, FindsTheFastestOfASet) {
  const Answer answer = ok("-d tpu_v3 --from set --trials 40");
  EXPECT_THAT(answer.out, HasSubstr("best: unroll=5 lanes=3; measured 100.0"));
  EXPECT_THAT(answer.out, HasSubstr("40 trials\n"));
}

TEST_F(TuneCommand, KeepsTrialsAndGoesOnAfterATornLine) {
  ok("-d tpu_v3 --from set --trials 10 -o trials.csv");
  const std::string ten = read("trials.csv");
  EXPECT_EQ(std::count(ten.begin(), ten.end(), '\n'), 11);
  write("trials.csv", ten + "11,63,unroll=8 la");
  const Answer more = ok("-d tpu_v3 --from set --trials 20 -o trials.csv --format json");
  EXPECT_THAT(more.err, HasSubstr("trials.csv: going on after 10 trials"));
  const std::string twenty = read("trials.csv");
  EXPECT_EQ(twenty.substr(0, ten.size()), ten);
  EXPECT_EQ(std::count(twenty.begin(), twenty.end(), '\n'), 21);
  const auto json = Json::parse(more.out);
  EXPECT_EQ(json.at("schema"), "tilecast.tune/1");
  EXPECT_EQ(json.at("trials").size(), 20U);
  EXPECT_EQ(json.at("candidates"), 64);
}

TEST_F(TuneCommand, RefusesTrialsOfAnotherSearch) {
  write("trials.csv", "trial,index,tile,predicted_ns,measured_ns\n1,0,unroll=9 lanes=9,,100\n");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "the trials are of another search");
  write("trials.csv", "name,value\na,1\n");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "expected the columns trial,index,tile");
  write("trials.csv", "a text without an end of line");
  expect_failure("-d tpu_v3 --from set -o trials.csv", 1, "expected the columns trial,index,tile");
  EXPECT_EQ(read("trials.csv"), "a text without an end of line");
}

TEST_F(TuneCommand, MeasuresWithACommandAndCountsFailures) {
  const Answer answer =
      ok("-d tpu_v3 dot.hlo --trials 6 --batch 3 -f json --measure "
         "'test {index} -ne 0 && echo warm-up && echo \"1{index} us\" && echo \"{tile}\" >> asked'"
         " --strategy grid");
  const auto json = Json::parse(answer.out);
  EXPECT_EQ(json.at("failed"), 1);
  ASSERT_EQ(json.at("trials").size(), 6U);
  EXPECT_TRUE(json["trials"][0]["measured_s"].is_null());
  EXPECT_DOUBLE_EQ(json["trials"][1]["measured_s"].get<double>(), 11e-6);
  EXPECT_EQ(json["best"]["index"], 1);
  EXPECT_THAT(answer.err, HasSubstr("failed: out="));
  EXPECT_THAT(answer.err, HasSubstr("exit code 1"));
  EXPECT_THAT(read("asked"), HasSubstr(json["best"]["tile"].get<std::string>() + "\n"));
}

TEST_F(TuneCommand, TakesSecondsAndSaysWhyACommandHasNoTime) {
  const Answer answer =
      ok("-d tpu_v3 dot.hlo --trials 2 --measure "
         "'if [ {index} = 0 ]; then echo 0.000012; else echo soon; fi' --strategy grid");
  EXPECT_THAT(answer.out, HasSubstr("2 trials, 1 of them failed"));
  EXPECT_THAT(answer.out, HasSubstr("measured 12.0"));
  EXPECT_THAT(answer.err, HasSubstr("no time in 'soon'"));
}

TEST_F(TuneCommand, EndsACommandThatTakesTooLong) {
  const Answer answer = run("-d tpu_v3 dot.hlo --trials 1 --measure 'sleep 60' --timeout '100 ms'");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("no answer in 0.1 s"));
  EXPECT_THAT(answer.err, HasSubstr("every trial failed"));
}

TEST_F(TuneCommand, SearchesOnlyTheTilesOfATableThatRun) {
  write("mine.csv", "output_bounds\n4 8\n1 1 1 1\n8 8\n");
  const Answer answer = ok(
      "-d tpu_v3 dot.hlo --among mine.csv -f json --measure 'echo \"{tile}\" >> asked; echo 1 us'");
  EXPECT_THAT(answer.err, HasSubstr("mine.csv: 1 of 3 tiles cannot run on tpu_v3"));
  const auto json = Json::parse(answer.out);
  EXPECT_EQ(json.at("candidates"), 2);
  const std::string asked = read("asked");
  EXPECT_TRUE(asked == "out=4x8\nout=8x8\n" || asked == "out=8x8\nout=4x8\n") << asked;
  write("mine.csv", "output_bounds\n1 1 1 1\n");
  expect_failure("-d tpu_v3 dot.hlo --among mine.csv --measure 'echo 1 us'", 1,
                 "none of 1 tiles offered can run on tpu_v3: output tile has 4 dimensions, this "
                 "kernel has 2; d keeps its default (out=");
}

TEST_F(TuneCommand, ComparesStrategiesOnASet) {
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 3 --budgets 5,64 --format json").out);
  EXPECT_EQ(json.at("schema"), "tilecast.tune_compare/1");
  EXPECT_EQ(json.at("rows").size(), 10U);
  for (const auto& row : json.at("rows")) {
    if (row.at("trials") == 64) {
      EXPECT_DOUBLE_EQ(row.at("best_in_top").get<double>(), 1.0);
    }
  }
  const Answer table = run("-d tpu_v3 --from set --compare --seeds 2 --budgets 5");
  EXPECT_THAT(table.out, HasSubstr("64 tiles measured on tpu_v3"));
  EXPECT_THAT(table.out, HasSubstr("5 trials %"));
}

TEST_F(TuneCommand, ComparesAllKernelsOfASetAndAsksWhichOne) {
  std::string rows = read("set/measurements.csv");
  for (int lanes = 1; lanes <= 8; ++lanes) {
    rows += "matmul,bf16,2048,1024,1024,16 4," + std::to_string(200'000 + 1'000 * lanes) + ",1," +
            std::to_string(lanes) + "\n";
  }
  write("set/measurements.csv", rows);
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 2 --budgets 4,64 -f json").out);
  EXPECT_EQ(json.at("kernels"), 2);
  EXPECT_EQ(json.at("candidates"), 64 + 8);
  EXPECT_TRUE(json.at("kernel").is_null());
  expect_failure("-d tpu_v3 --from set", 1, "2 kernels, expected one; choose it with --kernel");
  expect_failure("-d tpu_v3 --from set --compare --budgets 100", 1,
                 "no kernel has more than 100 tiles measured");
}

TEST_F(TuneCommand, ComparesOneStrategyUnderTheBaselineOnDrawnKernels) {
  const Json json =
      Json::parse(ok("-d tpu_v3 --from set --compare --seeds 2 --strategy model --model bottleneck "
                     "--most-kernels 1 --format json")
                      .out);
  EXPECT_EQ(json.at("model"), "bottleneck");
  ASSERT_EQ(json.at("rows").size(), 2U);
  EXPECT_EQ(json.at("rows")[0].at("strategy"), "model");
}

TEST_F(TuneCommand, SaysThatAMachineWithoutBlocksHasNoSchedules) {
  const std::string why =
      "of the list 'schedules' on tpu_v3; stages and warps are of machines that "
      "run thread blocks; try --list ladder";
  const Answer tiles = run("-d tpu_v3 dot.hlo --list schedules --measure 'echo 1 us'");
  EXPECT_EQ(tiles.exit_code, 1);
  EXPECT_THAT(tiles.err, HasSubstr("dot.hlo: d has no tiles " + why));
}

TEST_F(TuneCommand, SaysWhatIsKeptWhereEveryTrialFails) {
  const Answer answer = run("-d tpu_v3 dot.hlo --trials 2 --measure false");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, HasSubstr("the kernel keeps the tile that it has by default"));
}

TEST_F(TuneCommand, AsksForWhatItNeeds) {
  expect_failure("-d tpu_v3", 2, "expected an HLO file with --measure");
  expect_failure("-d tpu_v3 dot.hlo", 2, "--measure is required");
  expect_failure("-d tpu_v3 --from set --measure true", 2, "expected one of them");
  expect_failure("-d tpu_v3 dot.hlo --measure true --compare", 2, "--compare needs --from");
  expect_failure("-d tpu_v3 --from set --kernel nothing", 1, "no kernel is called 'nothing'");
  expect_failure("-d tpu_v3 dot.hlo --measure true --timeout long", 2, "--timeout");
}

// --- Tests `tilecast tune program`, and ranking models wherever tiles are chosen.

Json program_of(const Answer& simulated) {
  return Json::parse(simulated.out).at("programs").at(0);
}

class TuneProgramCommand : public CommandTest {
 protected:
  TuneProgramCommand() : CommandTest("tune program") {
    mixer_ = support::source_dir().string() + "/configs/programs/small_mixer.hlo";
  }
  // A model trained to rank tiles with few rows as fast.
  void train_ranks() const {
    write_manifest();
    std::string rows = "op,dtype,m,n,k,output_bounds,runtime_ns\n";
    for (const int size : {1024, 2048, 4096, 8192}) {
      for (const int tile : {1, 2, 4, 8, 16, 32, 64}) {
        rows += "matmul,bf16,1024," + std::to_string(size) + ",1024," + std::to_string(tile) +
                " 4," + std::to_string(1'000'000 + 100 * size + 10'000 * tile) + "\n";
      }
    }
    write("set/measurements.csv", rows);
    write("e.yaml",
          "format: tilecast.experiment/1\nname: e\nclaim: It ranks.\ndevice: tpu_v3\n"
          "data: [{name: made up, importer: set, from: ./set}]\n"
          "split: {kind: held_out_works, share: 25 %, seeds: 1}\n"
          "learners: [{name: ranks, model: xgboost, features: [tile], objective: pairwise,\n"
          "            trees: 60}]\n"
          "columns: [analytical, ranks]\nmetrics: [tile_tau_b]\n");
    tilecast_ok("train e.yaml --learner ranks --out ranks");
  }
  void write_dot() const { write_product("dot.hlo", 1024, 1024, 1024, "{1,0:T(8,128)(2,1)}"); }
  std::string mixer_;
};

TEST_F(TuneProgramCommand, AFileWhoseNameIsNoUtf8IsInTheDocument) {
  std::filesystem::copy_file(mixer_, folder() / "mixer\xff.hlo");
  for (const char* verb : {"tune fusion --costs 5", "tune program"}) {
    const Answer answer = tilecast_ok(std::string(verb) + " -d tpu_v3 -f json mixer\xff.hlo");
    EXPECT_EQ(Json::parse(answer.out).at("file"), "mixer\xEF\xBF\xBD.hlo");
  }
}

TEST_F(TuneProgramCommand, TellsTheTimesThatSimulateTells) {
  const Answer tuned = ok(mixer_ + " -d tpu_v3 -f json");
  std::map<std::string, double> simulated;
  for (const Json& kernel : program_of(tilecast("simulate -f json -d tpu_v3 " + mixer_))["kernels"])
    simulated[kernel["name"]] = kernel["time_s"];
  for (const Json& kernel : Json::parse(tuned.out)["kernels"]) {
    const double time_s = simulated.at(kernel["name"]);
    EXPECT_NEAR(kernel["predicted_default_s"], time_s, 1e-9 * time_s) << kernel["name"];
  }
}

TEST_F(TuneProgramCommand, WritesTilesThatSimulateTakes) {
  // All tile files take the same time, and the default is kept if nothing is faster.
  const Json json = Json::parse(
      ok(mixer_ + " -d cpu_generic --model analytical --top 2 --most-tiles 6 -f json "
                  "--measure 'test -e {tiles} && echo 10 us' -o mixer.tiles --hlo mixer_fused.hlo")
          .out);
  EXPECT_EQ(json.at("schema"), "tilecast.tune_program/1");
  EXPECT_TRUE(json["hardware"]["complete"]);
  EXPECT_DOUBLE_EQ(json["hardware"]["default"]["seconds"].get<double>(), 10e-6);
  for (const Json& kernel : json["kernels"]) EXPECT_EQ(kernel["top_rank"], 0);
  EXPECT_EQ(read("mixer.tiles"), "tilecast.tile_choices/1\n") << "nothing was faster";
  const Answer fused =
      tilecast_ok("simulate mixer_fused.hlo -d cpu_generic --model analytical -f json");
  EXPECT_NEAR(program_of(fused).at("time_s").get<double>(),
              json.at("predicted_default_s").get<double>(), 1e-12);
}

TEST_F(TuneProgramCommand, TakesTheTilesThatRanFastest) {
  // A program is faster the fewer of its tiles contain a sixteen.
  const Answer tuned = ok(mixer_ +
                          " -d cpu_generic --model analytical --top 3 --most-tiles 20 -f json "
                          "--measure 'echo 0.0001$(grep -c x {tiles})$(grep -c 16 {tiles})' "
                          "-o mixer.tiles --journal j.csv");
  const std::string tiles = read("mixer.tiles");
  const Answer run_with = tilecast_ok(
      "simulate " + mixer_ + " -d cpu_generic --model analytical --tiles mixer.tiles -f json");
  const Json simulated = program_of(run_with);
  EXPECT_THAT(simulated.at("model").get<std::string>(), HasSubstr("tiles of mixer.tiles"));
  const Answer again = ok(mixer_ +
                          " -d cpu_generic --model analytical --top 3 --most-tiles 20 -f json "
                          "--measure 'exit 1 {tiles}' -o again.tiles --journal j.csv");
  EXPECT_EQ(read("again.tiles"), tiles) << "all of it is in the journal";
  EXPECT_EQ(Json::parse(again.out)["kernels"], Json::parse(tuned.out)["kernels"]);
}

TEST_F(TuneProgramCommand, SaysWhatIsWrong) {
  expect_failure(mixer_, 2, "--device is required\nsee tilecast tune program --help");
  expect_failure(mixer_ + " -d tpu_v3 --measure 'echo no {tiles}'", 1, "it does not run here");
  expect_failure(mixer_ + " -d tpu_v3 --measure 'echo no'", 2, "expected {tiles} in the command");
  expect_failure(mixer_ + " -d tpu_v3 --measure {tiles} --hardware host", 2,
                 "expected one of them");
  expect_failure("none.hlo -d tpu_v3", 1, "none.hlo");
  expect_failure(mixer_ + " -d tpu_v3 --list every", 2, "--list");
  write("bad.tiles", "tiles\n");
  EXPECT_THAT(tilecast("simulate " + mixer_ + " -d tpu_v3 --tiles bad.tiles").err,
              HasSubstr("bad.tiles:1:1: error: got 'tiles', expected 'tilecast.tile_choices/1'"));
}

TEST_F(TuneProgramCommand, ListsMoreTilesWhereAllAreAskedFor) {
  const std::string options = " -d tpu_v3 --model analytical -f json";
  const Json ladder = Json::parse(run(mixer_ + options).out);
  const Json all = Json::parse(run(mixer_ + options + " --list all --most-tiles 100000").out);
  const auto tiles = [](const Json& tuning) {
    std::map<std::string, std::size_t> by_kernel;
    for (const Json& kernel : tuning.at("kernels")) {
      by_kernel[kernel["hash"]] = kernel["tiles"].get<std::size_t>();
    }
    return by_kernel;
  };
  bool more = false;
  for (const auto& [hash, count] : tiles(ladder)) {
    EXPECT_GE(tiles(all)[hash], count);
    more |= tiles(all)[hash] > count;
  }
  EXPECT_TRUE(more);
  EXPECT_LE(all["predicted_default_s"].get<double>(), ladder["predicted_default_s"].get<double>());
}

TEST_F(TuneProgramCommand, AModelOfRanksChoosesAndPhysicsTimes) {
  train_ranks();
  write_dot();
  const Json explained =
      Json::parse(tilecast_ok("explain dot.hlo -d tpu_v3 --model ranks -f json").out);
  EXPECT_EQ(explained.at("tile_origin"), "best by the ranks");
  EXPECT_THAT(explained.at("model").get<std::string>(), HasSubstr("tiles chosen by ranks"));
  const Answer physics = tilecast("simulate dot.hlo -d tpu_v3 --model analytical -f json");
  const Answer ranked = tilecast_ok("simulate dot.hlo -d tpu_v3 --model ranks -f json");
  const Json kernel = program_of(ranked)["kernels"][0];
  EXPECT_GE(kernel["time_s"], program_of(physics)["kernels"][0]["time_s"]);
  const Answer chosen =
      tilecast("simulate dot.hlo -d tpu_v3 --model analytical --choose-tiles ranks -f json");
  EXPECT_EQ(program_of(chosen)["kernels"][0]["time_s"], kernel["time_s"]);
}

// Its times are those of physics; of another kind of machine it knows nothing.
TEST_F(TuneProgramCommand, TheShippedRankerIsNamed) {
  write_dot();
  const std::string asked = "tiles dot.hlo --model analytical --choose-tiles xla_tiles -f json -d ";
  const Json tiles = Json::parse(tilecast_ok(asked + "tpu_v5e").out);
  EXPECT_FALSE(tiles.empty());
  const Answer refused = tilecast(asked + "h100_sxm");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("h100_sxm is another kind of machine"));
  EXPECT_THAT(tilecast("tiles dot.hlo -d tpu_v5e --model xla_tiles").err,
              HasSubstr("got 'xla_tiles', expected analytical"))
      << "the name is of no model of times";
}

TEST_F(TuneProgramCommand, RanksAreShownAsRanks) {
  train_ranks();
  write_dot();
  write("tiles.csv", "output_bounds\n64 4\n1 4\n8 4\n1 4\n");
  const Answer answer = tilecast_ok("tiles dot.hlo tiles.csv -d tpu_v3 --model ranks");
  std::istringstream lines(answer.out);
  std::vector<std::string> rank;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.rfind(',');  // of energy_uJ, the last column
    const std::size_t begin = line.rfind(',', end - 1) + 1;
    rank.push_back(line.substr(begin, end - begin));
  }
  EXPECT_EQ(rank, (std::vector<std::string>{"rank", "4", "1", "3", "1"}));
  const Answer tuned = tilecast_ok(
      "tune tiles dot.hlo -d tpu_v3 --model ranks --strategy model --trials 3 -f json "
      "--measure 'echo 5 us'");
  EXPECT_EQ(Json::parse(tuned.out)["trials"].size(), 3U);
}

// A command whose times depend only on the program and its tiles; at its ninth run it kills
// tilecast if the file `kill` exists.
constexpr const char* kTimesAndKills =
    " --measure 'n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; "
    "if [ $n = 8 ] && [ -e kill ]; then rm kill; kill -9 $PPID; fi; "
    "echo \"$(cat {hlo} {tiles} | cksum | cut -c1-4) us\"'";

TEST_F(TuneProgramCommand, KilledAndResumedAnswersAsUnbroken) {
  const std::string tiles = "program " + mixer_ +
                            " -d cpu_generic --model analytical --top 2 --most-tiles 6 "
                            "--hardware-budget 600s -f json" +
                            kTimesAndKills;
  const std::string fusion = "fusion " + mixer_ +
                             " -d cpu_generic --model analytical --costs 300 --keep 12 "
                             "--hardware-budget 600s -f json" +
                             kTimesAndKills;
  const std::string alone = "fusion " + mixer_ +
                            " -d cpu_generic --model analytical --search-on hardware --costs 60 "
                            "--hardware-budget 600s -f json" +
                            kTimesAndKills;
  for (const std::string& search : {tiles, fusion, alone}) {
    const std::string of = std::to_string(search.size());  // prefix of its files
    const auto answer_of = [&](const std::string& name) {
      write("count", "0\n");
      return tilecast("tune " + search + " --journal " + of + name + ".csv -o " + of + name +
                      ".txt");
    };
    const Answer unbroken = answer_of("unbroken");
    ASSERT_EQ(unbroken.exit_code, 0) << unbroken.err;
    write("kill", "");
    EXPECT_EQ(answer_of("broken").exit_code, 128 + SIGKILL);
    ASSERT_FALSE(exists("kill"));
    const Answer resumed = answer_of("broken");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("broken.csv: going on after"));
    const auto without_clock = [](const Answer& answer) {
      Json json = Json::parse(answer.out);
      json["hardware"].erase("spent_s");
      return json;
    };
    EXPECT_EQ(without_clock(resumed), without_clock(unbroken));
    EXPECT_EQ(read(of + "broken.txt"), read(of + "unbroken.txt"));
  }
}
}  // namespace
}  // namespace tilecast::sim
