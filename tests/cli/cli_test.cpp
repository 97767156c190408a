// Tests the built `tilecast`: exit codes, messages for bad input, and all formats.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_test.h"
#include "tests/support/folders.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CommandLine : public CommandTest {
 protected:
  CommandLine() { write_product("dot.hlo", 256, 512, 1024); }
};

TEST_F(CommandLine, PrintsItsVersionAndHelp) {
  EXPECT_THAT(run("--version").out, StartsWith("tilecast "));
  ok("--help");
  for (const char* verb : {"simulate", "explain", "kernels", "hw", "ops", "tiles"}) {
    const Answer help = ok(std::string(verb) + " --help");
    EXPECT_THAT(help.out, HasSubstr("Example")) << verb;
  }
}

TEST_F(CommandLine, SimulateGivesTheSameBytesForAnyNumberOfThreads) {
  std::string text =
      "HloModule chain\nENTRY main {\n  a = f32[512,512] parameter(0)\n"
      "  x0 = f32[512,512] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  for (int i = 1; i < 300; ++i) {
    const std::string before = "x" + std::to_string(i - 1);
    text +=
        "  x" + std::to_string(i) + " = f32[512,512] " +
        (i % 3 == 0 ? "dot(a, " + before + "), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
                    : (i % 3 == 1 ? "tanh(" : "negate(") + before + ")") +
        "\n";
  }
  write("chain.hlo", text + "  ROOT r = f32[512,512] add(a, x299)\n}\n");
  for (const std::string device : {"tpu_v3", "cpu_generic"}) {
    for (const std::string fusion : {"default", "none"}) {
      const std::string command =
          "simulate chain.hlo -f json -d " + device + " --fusion " + fusion + " --jobs ";
      const Answer one = ok(command + "1");
      EXPECT_EQ(run(command + "2").out, one.out);
      EXPECT_EQ(run(command + "8").out, one.out);
    }
  }
}

TEST_F(CommandLine, WrongUsageExitsWithTwoAndNamesTheNearest) {
  expect_failure("", 2, "subcommand is required");
  expect_failure("simulat dot.hlo", 2, "did you mean 'simulate'?");
  expect_failure("simulate --device tpu_v3 --fromat json dot.hlo", 2, "did you mean '--format'?");
  expect_failure("simulate --device tpu_v3 --format yaml dot.hlo", 2, "yaml");
  expect_failure("simulate dot.hlo", 2, "--device is required");
  expect_failure("simulate --device tpu_v3", 2, "program is required");
  expect_failure("simulate --device tpu_v3 --set clock dot.hlo", 2, "expected key=value");
  expect_failure("simulate --device tpu_v3 --jobs 0 dot.hlo", 2, "jobs");
  expect_failure("simulate --device tpu_v3 --trip-count=-1 dot.hlo", 2, "--trip-count");
  expect_failure("hw", 2, "subcommand is required");
}

TEST_F(CommandLine, FilesThatCannotBeReadExitWithOneAndNameTheFile) {
  expect_failure("simulate --device tpu_v3 missing.hlo", 1, "missing.hlo");
  expect_failure("simulate --device tpu_v3 .", 1, ".");
  write("empty.hlo", "");
  expect_failure("simulate --device tpu_v3 empty.hlo", 1, "empty.hlo");
  write("binary.hlo", std::string("\x7f"
                                  "ELF\0\1\2\xff",
                                  8));
  expect_failure("simulate --device tpu_v3 binary.hlo", 1, "binary.hlo: got a compiled program");
  const std::string whole = read("dot.hlo");
  for (std::size_t length = 12; length + 3 < whole.size(); length += 7) {
    write("cut.hlo", whole.substr(0, length));
    expect_failure("simulate --device tpu_v3 cut.hlo", 1, "cut.hlo");
  }
}

TEST_F(CommandLine, UnknownDevicesAndKeysNameTheNearest) {
  expect_failure("simulate --device tpu_v33 dot.hlo", 1, "tpu_v3");
  expect_failure("simulate --device tpu_v3 --set hbm.bandwith=1TB/s dot.hlo", 1, "bandwidth");
  expect_failure("simulate --device missing.yaml dot.hlo", 1, "missing.yaml");
}

TEST_F(CommandLine, UnknownKernelsNameTheNearest) {
  expect_failure("explain --device tpu_v3 dot.hlo --kernel dd", 1, "did you mean 'd'?");
  expect_failure("explain --device tpu_v3 dot.hlo --kernel d --tile out=2y2", 1, "tile");
}

TEST_F(CommandLine, SimulatesInEveryFormat) {
  const Answer table = ok("simulate --device tpu_v3 dot.hlo");
  EXPECT_THAT(table.out, HasSubstr("total"));
  const auto json = nlohmann::json::parse(run("simulate -d tpu_v3 -f json dot.hlo").out);
  EXPECT_EQ(json["schema"], "tilecast.simulate/2");
  EXPECT_GT(json["programs"][0]["time_s"], 0.0);
  EXPECT_EQ(json["programs"][0]["kernels"][0]["flops"], 2.0 * 256 * 512 * 1024);
  EXPECT_THAT(run("simulate -d tpu_v3 -f csv dot.hlo").out, StartsWith("file,program,device"));
  const auto trace = nlohmann::json::parse(run("simulate -d tpu_v3 -f trace dot.hlo").out);
  EXPECT_FALSE(trace["traceEvents"].empty());
}

TEST_F(CommandLine, ComparesProgramsAndDevicesInOneTable) {
  const Answer answer = ok("simulate -d tpu_v3 -d h100_sxm dot.hlo dot.hlo");
  EXPECT_THAT(answer.out, HasSubstr("tpu_v3"));
  EXPECT_THAT(answer.out, HasSubstr("h100_sxm"));
}

TEST_F(CommandLine, SameBytesForAnyNumberOfJobs) {
  const std::string files = " -f json dot.hlo dot.hlo dot.hlo dot.hlo";
  EXPECT_EQ(run("simulate -d tpu_v3 -d tpu_v4 -j 1" + files).out,
            run("simulate -d tpu_v3 -d tpu_v4 -j 8" + files).out);
}

TEST_F(CommandLine, AnOverrideChangesTheAnswerAndIsReported) {
  const auto time_s = [](const Answer& answer) {
    return nlohmann::json::parse(answer.out)["programs"][0]["time_s"].get<double>();
  };
  const Answer base = run("simulate -d tpu_v3 -f json dot.hlo");
  const Answer slow = run("simulate -d tpu_v3 --set hbm.bandwidth=1GB/s -f json dot.hlo");
  EXPECT_GT(time_s(slow), time_s(base));
  EXPECT_THAT(slow.out, HasSubstr("device override: hbm.bandwidth=1GB/s"));
}

TEST_F(CommandLine, WritesAFileWholeOrNotAtAll) {
  EXPECT_EQ(run("simulate -d tpu_v3 -f json -o out.json dot.hlo").out, "");
  EXPECT_EQ(nlohmann::json::parse(read("out.json"))["schema"], "tilecast.simulate/2");
  EXPECT_FALSE(exists("out.json.tmp"));
  const auto files = std::distance(std::filesystem::directory_iterator(folder()), {});
  EXPECT_EQ(files, 4);  // dot.hlo, out.json, and the messages
  write("kept.json", "before");
  expect_failure("simulate -d tpu_v3 -f json -o kept.json missing.hlo", 1, "missing.hlo");
  EXPECT_EQ(read("kept.json"), "before");
  expect_failure("simulate -d tpu_v3 -o no/such/folder.txt dot.hlo", 1, "no/such/folder.txt");
}

TEST_F(CommandLine, AnOutputIsNoInput) {
  const std::string dot = read("dot.hlo");
  write("dev.yaml", "extends: tpu_v3\nname: mine\n");
  write("study.yaml",
        "format: tilecast.study/1\nname: s\ndevices: [./dev.yaml]\nprograms: [./dot.hlo]\n"
        "axes:\n  hbm.bandwidth: {values: [900 GB/s, 1 TB/s]}\n");
  write("x.csv", "output_bounds\n4 8\n");
  const std::string device = read("dev.yaml"), study = read("study.yaml");
  std::filesystem::create_hard_link(folder() / "dot.hlo", folder() / "hard.hlo");
  std::filesystem::create_symlink("dev.yaml", folder() / "soft.yaml");
  for (const char* command :
       {"simulate -d tpu_v3 dot.hlo -o ./dot.hlo", "convert dot.hlo -o hard.hlo",
        "hw show ./soft.yaml -o dev.yaml", "simulate -d ./dev.yaml dot.hlo -o soft.yaml",
        "sweep study.yaml -o study.yaml", "sweep study.yaml -o dev.yaml",
        "tune fusion -d tpu_v3 dot.hlo --hlo dot.hlo", "tune program -d tpu_v3 dot.hlo -o dot.hlo",
        "tune tiles -d tpu_v3 dot.hlo --measure 'echo 1 us' -o dot.hlo",
        "tune tiles -d tpu_v3 dot.hlo --measure 'echo 1 us' -o x.csv --among x.csv",
        "sweep study.yaml -o out.csv --journal out.csv"}) {
    const Answer answer = run(command);
    EXPECT_EQ(answer.exit_code, 1) << command;
    EXPECT_THAT(answer.err, HasSubstr("would be lost")) << command;
  }
  EXPECT_EQ(read("dot.hlo"), dot);
  EXPECT_EQ(read("dev.yaml"), device);
  EXPECT_EQ(read("study.yaml"), study);
}

TEST_F(CommandLine, NothingOfAnInputIsObeyedByATerminal) {
  const std::string evil = "\x1b[2J\xc2\x9b\x7f";
  write("ops.csv", "op,dtype,elements,x_" + evil + "," + evil + "\nadd,f32,64," + evil + ",1\n");
  write(evil + ".hlo", read("dot.hlo"));
  write("evil.yaml", "extends: tpu_v3\nname: \"\\e[2J\"\n");
  for (const std::string& command :
       {std::string("ops -d tpu_v3 ops.csv"), std::string("ops -d tpu_v3 -f table ops.csv"),
        std::string("ops -d tpu_v3 -f json ops.csv"), "simulate -d tpu_v3 '" + evil + ".hlo'",
        "simulate -d tpu_v3 -f csv '" + evil + ".hlo'", "explain -d tpu_v3 '" + evil + ".hlo'",
        std::string("simulate -d ./evil.yaml dot.hlo"), std::string("hw show ./evil.yaml"),
        "simulate -d tpu_v3 '" + evil + "'", "simulate -d '" + evil + "' dot.hlo",
        "simulate '--" + evil + "'", std::string("import operators -d tpu_v3 -o set ops.csv")}) {
    const Answer answer = run(command);
    for (const char* obeyed : {"\x1b", "\x7f", "\xc2\x9b"}) {
      EXPECT_THAT(answer.out, Not(HasSubstr(obeyed))) << command;
      EXPECT_THAT(answer.err, Not(HasSubstr(obeyed))) << command;
    }
  }
}

TEST_F(CommandLine, ZeroSizedArraysAreAnsweredWithoutNan) {
  write("zero.hlo",
        "HloModule z\nENTRY main {\n  a = f32[0,128] parameter(0)\n"
        "  ROOT b = f32[0,128] add(a, a)\n}\n");
  const Answer answer = ok("simulate -d tpu_v3 zero.hlo");
  EXPECT_THAT(answer.out, Not(HasSubstr("nan")));
  EXPECT_THAT(answer.out, Not(HasSubstr("inf")));
}

TEST_F(CommandLine, ShowsTheLoopsOfATile) {
  const Answer loops = ok("explain -d tpu_v3 dot.hlo --loops tiled");
  EXPECT_THAT(loops.out, HasSubstr("multiply d"));
  expect_failure("explain -d tpu_v3 dot.hlo --loops c", 1, "a matrix product of two types");
  const Answer cuda = ok(
      "explain -d a100_sxm_40gb dot.hlo --tile 'out=64x64 kernel=32x64 stages=2 warps=4' --loops "
      "cuda");
  EXPECT_THAT(cuda.out, HasSubstr("wmma::mma_sync"));
  EXPECT_THAT(cuda.out, HasSubstr("launch_kernel"));
  expect_failure("explain -d tpu_v3 dot.hlo --loops cuda", 1, "has no blocks of threads");
  EXPECT_EQ(run("explain -d tpu_v3 dot.hlo --loops tree").exit_code, 2);
}

TEST_F(CommandLine, ExplainsAKernelAndSaysWhyATileCannotRun) {
  const Answer answer = ok("explain -d tpu_v3 dot.hlo");
  EXPECT_THAT(answer.out, HasSubstr("bound by"));
  EXPECT_THAT(answer.out, HasSubstr("best of"));
  const Answer wrong = run("explain -d tpu_v3 dot.hlo -k d --tile out=1x1x1x1x1");
  EXPECT_THAT(wrong.out, HasSubstr("this tile cannot run"));
}

TEST_F(CommandLine, ListsKernelsWithoutADevice) {
  const Answer answer = ok("kernels -f csv dot.hlo");
  EXPECT_THAT(answer.out, HasSubstr("dot.hlo,d,dot,"));
}

TEST_F(CommandLine, AnswersOperatorTablesRowByRow) {
  write("ops.csv", "x_id,op,dtype,m,n,k,elements\n1,matmul,bf16,128,128,128,\n2,add,f32,,,,4096\n");
  const Answer answer = ok("ops -d tpu_v3 ops.csv");
  EXPECT_THAT(answer.out, StartsWith("x_id,op,dtype,m,n,k,elements,estimate_ns,bound,utilisation,"
                                     "energy_uJ,power_W,clock_MHz\n1,matmul,bf16,128,128,128,,"));
  write("bad.csv", "op,dtype,m,n,k\nmatmul,bf16,1,1,1\nmatmul,bf16,x,1,1\n");
  expect_failure("ops -d tpu_v3 bad.csv", 1, "bad.csv:3: column 'm': got 'x'");
  const Answer kept = ok("ops -d tpu_v3 --keep-going bad.csv");
  EXPECT_THAT(kept.out, HasSubstr("matmul,bf16,x,1,1,,,,"));
  expect_failure("ops -d tpu_v3 dot.hlo", 1, "dot.hlo");
}

TEST_F(CommandLine, EveryVerbAsksTheSameModelByDefault) {
  for (const std::string verb : {"simulate", "explain", "tiles", "ops", "sensitivity", "tune tiles",
                                 "tune fusion", "tune program"}) {
    EXPECT_THAT(run(verb + " --help").out, HasSubstr("--model MODEL=default")) << verb;
  }
  EXPECT_THAT(run("compare --help").out, HasSubstr("without it: default"));
  EXPECT_THAT(run("evaluate --help").out, HasSubstr("roofline, analytical and default"));
}

TEST_F(CommandLine, TilesAsOnlyOurOwnWriterMakesThemSaySo) {
  const std::string product =
      support::source_dir().string() + "/configs/examples/gpu_product.hlo -d a100_sxm_40gb";
  const std::string note = "as Tilecast's own CUDA is written";
  EXPECT_THAT(run("tiles --list schedules " + product).err, HasSubstr(note));
  EXPECT_THAT(run("tiles " + product).err, Not(HasSubstr(note)));
}

TEST_F(CommandLine, AColumnThatNobodyReadsIsAnErrorOrNamed) {
  write("ops.csv", "op,dtype,elements,occupancy\nadd,f32,4096,3\n");
  EXPECT_THAT(run("ops -d tpu_v3 ops.csv").err,
              StartsWith("note: ops.csv: kept, not read: occupancy\n"));
  write("ops.csv", "op,dtype,elementz\nadd,f32,4096\n");
  expect_failure("ops -d tpu_v3 ops.csv", 1,
                 "ops.csv:1: unknown column 'elementz'; did you mean 'elements'?");
  write("ops.csv", "op,dtype,elements,runtime_ns,x_id\nadd,f32,4096,7,8\n");
  EXPECT_THAT(run("ops -d tpu_v3 ops.csv").err, StartsWith("note: ops.csv: kept, not read: "
                                                           "runtime_ns\n"));
  write("tiles.csv", "output_bounds,colour\n8 8,4\n");
  EXPECT_THAT(run("tiles -d tpu_v3 dot.hlo tiles.csv").err, HasSubstr("not read: colour\n"));
  write("tiles.csv", "output_bounds,config_index\n8 8,4\n");
  EXPECT_THAT(run("tiles -d tpu_v3 dot.hlo tiles.csv").err, HasSubstr("not read: config_index\n"));
}

TEST_F(CommandLine, AnswersTileTablesAndGivesReasons) {
  write("tiles.csv",
        "file,output_bounds,kernel_bounds\ndot.hlo,8 8,\ndot.hlo,1 1 1 1,\nother.hlo,1 1,\n");
  const Answer answer = ok("tiles -d tpu_v3 dot.hlo tiles.csv");
  EXPECT_THAT(answer.out, HasSubstr("output tile has 4 dimensions"));
  EXPECT_THAT(answer.out, Not(HasSubstr("other.hlo")));
  EXPECT_THAT(answer.err, HasSubstr("2 of 3 rows"));
}

TEST_F(CommandLine, OfATableTheFastestRowsAreRowsOfItThatRun) {
  const std::string head = "output_bounds,kernel_bounds,x_mine\n";
  const std::string rows[] = {"8 8,,a\n", "1 1 1 1,,b\n", "1 1,,c\n", "4 8,,d\n"};
  write("tiles.csv", head + rows[0] + rows[1] + rows[2] + rows[3]);
  const Answer all = run("tiles -d tpu_v3 dot.hlo tiles.csv");
  const Answer two = ok("tiles -d tpu_v3 dot.hlo tiles.csv --most 2");
  const auto lines = [](const std::string& text) {
    std::vector<std::string> list;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) list.push_back(line);
    return list;
  };
  const std::vector<std::string> every = lines(all.out), fastest = lines(two.out);
  ASSERT_EQ(every.size(), 5U);
  ASSERT_EQ(fastest.size(), 3U);
  for (const std::string& line : fastest) EXPECT_THAT(every, testing::Contains(line));
  EXPECT_THAT(fastest, Not(testing::Contains(HasSubstr("dimensions"))));
  write("tiles.csv", head + rows[1]);
  const Answer none = ok("tiles -d tpu_v3 dot.hlo tiles.csv --most 2");
  EXPECT_EQ(lines(none.out).size(), 1U);
  EXPECT_THAT(none.err, HasSubstr("none of 1 tiles offered can run on tpu_v3: output tile has 4"));
  EXPECT_THAT(none.err, HasSubstr("keeps its default (out="));
}

TEST_F(CommandLine, ShowsAndComparesDevices) {
  EXPECT_THAT(run("hw list").out, HasSubstr("tpu_v3"));
  EXPECT_THAT(run("hw diff tpu_v3 tpu_v4").out, HasSubstr("clock"));
  ok("hw show tpu_v3 -o mine.yaml");
  ok("simulate -d mine.yaml dot.hlo");
  ok("hw check");
}

TEST_F(CommandLine, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  expect_failure("simulate -d tpu_v3 -o /dev/full dot.hlo", 1, "/dev/full");
}

}  // namespace
}  // namespace tilecast::sim
