// A description becomes the device that it states, and every mistake has a clear message.
#include "hwdesc/device_yaml.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::hwdesc {
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"(execution: scratchpad
clock: 1 GHz
source: test
memory:
  hbm: {capacity: 1 GiB, bandwidth: 100 GB/s, latency: 1 us, source: test}
  vmem: {capacity: 1 MiB, bandwidth: 1 TB/s, latency: 1 ns, source: test}
transfer:
  hbm_to_vmem: {setup: 10 ns, source: test}
matrix: {count: 1, rows: 8, columns: 4, passes: {bf16: 1, f32: 2}, source: test}
vector: {lanes: 8, source: test}
transcendental: {per_cycle: 1, source: test}
cross_lane: {elements_per_cycle: 1, reduce_elements_per_cycle: 1, irregular_elements_per_cycle: 1, source: test}
dispatch: {kernel_launch: 1 us, source: test}
)";

// kSmall with `from` replaced by `to`.
std::string edited(const std::string& from, const std::string& to) {
  return support::replaced(kSmall, from, to);
}

std::string message_of(const std::string& text, const Overrides& overrides = {}) {
  return support::error_of([&] { return parse_device(text, "chip.yaml", overrides); }, "loaded");
}

TEST(ParseDevice, FillsEveryPartInSiUnits) {
  const Device device = parse_device(kSmall, "chip.yaml");
  EXPECT_EQ(device.name, "chip");
  EXPECT_EQ(device.execution, Execution::kScratchpad);
  EXPECT_EQ(device.clock.value, 1e9);
  ASSERT_EQ(device.memory.size(), 2u);
  EXPECT_EQ(device.main_memory().name, "hbm");
  EXPECT_EQ(device.main_memory().bandwidth.value, 100e9);
  EXPECT_EQ(device.scratchpad().capacity.value, 1024.0 * 1024);
  EXPECT_EQ(device.engines[0].setup.value, 10e-9);
  EXPECT_EQ(device.matrix_peak("f32").value, 2.0 * 8 * 4 * 1e9 / 2);
  EXPECT_EQ(device.dispatch.kernel_launch.value, 1e-6);
}

TEST(ParseDevice, KeepsTheOrderOfTheMemoryChain) {
  const Device device =
      parse_device(edited("  vmem: {",
                          "  l2: {capacity: 8 MiB, bandwidth: 1 TB/s, latency: 9 ns, source: t}\n"
                          "  vmem: {"),
                   "chip.yaml",
                   {{"transfer",
                     "{hbm_to_l2: {setup: 1 ns, source: t}, l2_to_vmem: {setup: 2 ns, "
                     "source: t}}"}});
  ASSERT_EQ(device.engines.size(), 2u);
  EXPECT_EQ(device.memory[1].name, "l2");
  EXPECT_EQ(device.engines[1].setup.value, 2e-9);
}

TEST(ParseDevice, FusesAsItsExecutionDoesUnlessItSaysOtherwise) {
  const Device plain = parse_device(kSmall, "chip.yaml");
  EXPECT_EQ(plain.fusion, Fusion::kByExecution);
  EXPECT_THAT(print_device(plain), testing::Not(HasSubstr("fusion")));
  const Device gpu =
      parse_device(edited("clock: 1 GHz", "clock: 1 GHz\nfusion: xla_gpu"), "chip.yaml");
  EXPECT_EQ(gpu.fusion, Fusion::kXlaGpu);
  EXPECT_THAT(print_device(gpu), HasSubstr("fusion: xla_gpu"));
  EXPECT_NE(gpu.machine, plain.machine);
}

TEST(ParseDevice, RefusalsSayWhereWhatGotExpectedAndHint) {
  const struct {
    std::string from, to, message;
  } slips[] = {
      {"clock: 1 GHz", "clok: 1 GHz",
       "chip.yaml:1:1: device: the key 'clock' is missing; expected clock: of the core"},
      {"dispatch:", "matrx: {}\ndispatch:",
       "chip.yaml:13:1: unknown key 'matrx'; did you mean 'matrix'?"},
      {"bandwidth: 100 GB/s", "bandwith: 100 GB/s, bandwidth: 1 GB/s",
       "chip.yaml:5:26: unknown key 'bandwith' in memory.hbm; did you mean 'bandwidth'?"},
      {"100 GB/s", "100 Gbps",
       "chip.yaml:5:26: memory.hbm.bandwidth: got '100 Gbps', expected a bandwidth such as "
       "900 GB/s; bits or bytes? divide bits by 8 and write GB/s"},
      {"1 GiB", "1 GB",
       "chip.yaml:5:9: memory.hbm.capacity: got '1 GB', expected a capacity such as 16 MiB; "
       "is a GB 1000 or 1024 based? write GiB"},
      {"latency: 1 us", "latency: -1 us",
       "chip.yaml:5:47: memory.hbm.latency: got '-1 us', expected 0 s to 1 s"},
      {"100 GB/s", "0 GB/s",
       "chip.yaml:5:26: memory.hbm.bandwidth: got '0 GB/s', expected 1 KB/s to 1000 TB/s"},
      {"100 GB/s", ".inf",
       "chip.yaml:5:26: memory.hbm.bandwidth: got '.inf', expected a bandwidth such as 900 "
       "GB/s; it does not start with a decimal number"},
      {"clock: 1 GHz", "clock: [1 GHz]",
       "chip.yaml:2:1: clock: got a list, expected a number with its unit"},
      {"count: 1,", "count: 1.5,",
       "chip.yaml:9:10: matrix.count: got '1.5', expected a whole number"},
      {"{bf16: 1, f32: 2}", "{bf61: 1}",
       "chip.yaml:9:50: matrix.passes: unknown name 'bf61'; did you mean 'bf16'?"},
      {"execution: scratchpad", "execution: scratchpd",
       "chip.yaml:1:1: execution: got 'scratchpd', expected one of scratchpad, simt, cache; "
       "did you mean 'scratchpad'?"},
      {"dispatch: {kernel_launch: 1 us, source: test}", "dispatch: {kernel_launch: 1 us}",
       "chip.yaml:13:1: dispatch: the key 'source' is missing; expected source: where the "
       "numbers come from"},
      {"dispatch: {kernel_launch: 1 us, source: test}",
       "dispatch: {kernel_launch: 1 us, source: ''}",
       "chip.yaml:13:33: dispatch.source: got 0 bytes of text, expected 1 to 2000"},
      {"vector: {lanes: 8, source: test}", "vector: 8",
       "chip.yaml:10:1: vector: got a value, expected a block of keys"},
      {"lanes: 8, source: test", "lanes: 8, source: test, estimated: yes",
       "chip.yaml:10:34: vector.estimated: got 'yes', expected true or false"},
      {"hbm_to_vmem", "vmem_to_hbm",
       "chip.yaml:7:1: transfer: the key 'hbm_to_vmem' is missing; expected hbm_to_vmem: "
       "one engine"},
      {"dispatch:", "co_issue: [[matrix, vektor]]\ndispatch:",
       "chip.yaml:13:21: co_issue: got 'vektor', expected one of matrix, vector, "
       "transcendental, cross_lane, scalar, load, store; did you mean 'vector'?"},
      {"dispatch:", "co_issue: [[matrix], [matrix]]\ndispatch:",
       "chip.yaml:13:23: co_issue: got 'matrix' twice, expected each unit in one group"},
      {"latency: 1 ns,", "latency: 1 ns, memory_space: 1.0e0, granule: 0.5 B,",
       "chip.yaml:6:82: memory.vmem.granule: got '0.5 B', expected 1 B to 16 MiB"}};
  for (const auto& [from, to, message] : slips) EXPECT_EQ(message_of(edited(from, to)), message);
}

TEST(ParseDevice, RefusesOneMemoryLevelAndSharedMemorySpaces) {
  EXPECT_EQ(
      message_of(edited("transfer:\n  hbm_to_vmem: {setup: 10 ns, source: test}", "transfer: {}"),
                 {{"memory.vmem", "null"}}),
      "chip.yaml:4:1: memory: got 1 level(s), expected at least 2: an outer one that holds "
      "the arrays and an inner one the units work from");
  EXPECT_EQ(message_of(kSmall, {{"hbm.memory_space", "1"}, {"vmem.memory_space", "1"}}),
            "chip.yaml:6:3: memory.vmem.memory_space: got 1, which is hbm's; expected one level "
            "per space");
  EXPECT_EQ(message_of(kSmall, {{"vmem.memory_space", "0"}}),  // the default place of arrays
            "chip.yaml:6:3: memory.vmem.memory_space: got 0, which is hbm's; expected one level "
            "per space");
}

TEST(ParseDevice, KnowsNoKeyThatNothingReads) {
  EXPECT_THAT(message_of(kSmall, {{"hbm.shared_by", "4"}}), HasSubstr("unknown key 'shared_by'"));
  EXPECT_THAT(message_of(kSmall, {{"power.tdp", "400 W"}}), HasSubstr("unknown key 'power'"));
}

TEST(ParseDevice, NamesEveryBlockWithoutASourceAtOnce) {
  const std::string text =
      edited("dispatch: {kernel_launch: 1 us, source: test}", "dispatch: {kernel_launch: 1 us}");
  EXPECT_EQ(message_of(text, {{"vmem.source", "null"}}),
            "chip.yaml:6:3: memory.vmem: the key 'source' is missing; expected source: where the "
            "numbers come from\n"
            "chip.yaml:13:1: dispatch: the key 'source' is missing; expected source: where the "
            "numbers come from");
}

TEST(ParseDevice, RefusesATextThatDescribesNothing) {
  EXPECT_EQ(message_of(""),
            "chip.yaml:1:1: got nothing, expected a mapping that describes a device");
  EXPECT_EQ(message_of("- a\n- b\n"),
            "chip.yaml:1:1: got a list, expected a mapping that describes a device");
}

TEST(Overrides, AddressMemoryLevelsByNameWithOrWithoutASpaceBeforeTheUnit) {
  for (const std::string value : {"1.2TB/s", "1.2 TB/s"}) {
    const Device device = parse_device(kSmall, "chip.yaml", {{"hbm.bandwidth", value}});
    EXPECT_EQ(device.main_memory().bandwidth.value, 1.2e12);
  }
  const Device device = parse_device(
      kSmall, "chip.yaml",
      {{"memory.vmem.capacity", "2 MiB"}, {"hbm_to_vmem.stages", "3"}, {"matrix.passes.f32", "6"}});
  EXPECT_EQ(device.scratchpad().capacity.value, 2.0 * 1024 * 1024);
  EXPECT_EQ(device.engines[0].stages, 3);
  EXPECT_EQ(device.matrix.passes.at("f32"), 6);
}

TEST(Overrides, SayWhichOneIsWrong) {
  EXPECT_EQ(message_of(kSmall, {{"hbm.bandwidth", "fast"}}),
            "--set hbm.bandwidth: memory.hbm.bandwidth: got 'fast', expected a bandwidth such as "
            "900 GB/s; it does not start with a decimal number");
  EXPECT_EQ(message_of(kSmall, {{"hbm.bandwith", "1 TB/s"}}),
            "--set hbm.bandwith: unknown key 'bandwith' in memory.hbm; did you mean 'bandwidth'?");
  EXPECT_EQ(message_of(kSmall, {{"hbn.bandwidth", "1 TB/s"}}),
            "--set hbn.bandwidth: unknown key 'hbn'; did you mean 'hbm'?");
  EXPECT_EQ(message_of(kSmall, {{"clock.rate", "1 GHz"}}),
            "--set clock.rate: 'clock' is a value, expected a block to set a key in");
  EXPECT_EQ(message_of(kSmall, {{"hbm..bandwidth", "1 TB/s"}}),
            "--set hbm..bandwidth: got the key 'hbm..bandwidth', expected a path such as "
            "hbm.bandwidth");
}

class Extends : public testing::Test, protected support::Folder {
 protected:
  Extends() { write("base.yaml", kSmall); }

  // Without the folder.
  std::string load_message(const std::string& path) {
    std::string message = support::error_of([&] { return load_device(path); }, "loaded");
    for (std::size_t found; (found = message.find(at(""))) != std::string::npos;) {
      message.erase(found, at("").size());
    }
    return message;
  }
};

TEST_F(Extends, KnowsWhichDescriptionsAreTheSameMachine) {
  write("fitted.yaml", "extends: base.yaml\ncalibration: {matrix: 0.9, source: a fit}\n");
  EXPECT_THAT(load_device(write("named.yaml", "extends: fitted.yaml\nname: named\n")).lineage,
              testing::ElementsAre("fitted", "base"));
  const Device faster =
      load_device(write("faster.yaml", "extends: fitted.yaml\nclock: 2 GHz\nsource: a guess\n"));
  EXPECT_THAT(faster.lineage, testing::IsEmpty());
}

TEST_F(Extends, KnowsHowFarAnAncestorIs) {
  write("fitted.yaml", "extends: base.yaml\ncalibration: {matrix: 0.9, source: a fit}\n");
  const Device device = load_device(write("named.yaml", "extends: fitted.yaml\nname: named\n"));
  EXPECT_EQ(device.lineage_distance("named"), 0U);
  EXPECT_EQ(device.lineage_distance("base"), 2U);
  EXPECT_EQ(device.lineage_distance("chip"), std::nullopt);
  const std::vector<std::string> names = {"chip", "base", "fitted"};
  EXPECT_EQ(device.lineage_distance(names), 1U);
}

TEST_F(Extends, OverridesSingleKeysAndKeepsTheRest) {
  const Device device = load_device(write(
      "next.yaml", "extends: base.yaml\nmemory: {hbm: {bandwidth: 200 GB/s, source: a guess}}\n"));
  EXPECT_EQ(device.name, "next");
  EXPECT_EQ(device.main_memory().bandwidth.value, 200e9);
  EXPECT_EQ(device.main_memory().provenance.source, "a guess");
  EXPECT_EQ(device.main_memory().capacity.value, 1024.0 * 1024 * 1024);
  EXPECT_EQ(device.scratchpad().name, "vmem");
  EXPECT_EQ(device.matrix.rows, 8);
}

TEST_F(Extends, DemandsASourceForOverriddenNumbers) {
  EXPECT_EQ(load_message(write("next.yaml",
                               "extends: base.yaml\nmemory:\n  hbm: {bandwidth: 200 GB/s}\n"
                               "matrix: {passes: {f32: 3}}\n")),
            "next.yaml:3:3: memory.hbm: the key 'source' is missing; expected source: where the "
            "numbers come from\n"
            "next.yaml:4:1: matrix: the key 'source' is missing; expected source: where the "
            "numbers come from");
  EXPECT_THAT(load_message(write("next.yaml", "extends: base.yaml\nclock: 2 GHz\n")),
              HasSubstr("device: the key 'source' is missing"));
}

TEST_F(Extends, DoesNotCallANewNumberEstimatedBecauseTheOldOneWas) {
  write("guess.yaml", edited("vector: {", "vector: {estimated: true, "));
  const Device device =
      load_device(write("next.yaml", "extends: guess.yaml\nvector: {lanes: 16, source: book}\n"));
  EXPECT_FALSE(device.vector.provenance.estimated);
}

TEST_F(Extends, RemovesABlockThatIsNull) {
  const Device device = load_device(write("next.yaml", "extends: base.yaml\nmatrix: null\n"));
  EXPECT_EQ(device.matrix.count, 0);
  EXPECT_EQ(device.matrix_peak("bf16").value, 0);
}

TEST_F(Extends, PlacesANewLevelWhereTheChildLists) {
  const Device device = load_device(write(
      "next.yaml",
      "extends: base.yaml\n"
      "memory:\n  hbm: {}\n  l2: {capacity: 8 MiB, bandwidth: 1 TB/s, latency: 9 ns, source: t}\n"
      "  vmem: {}\n"
      "transfer:\n  hbm_to_vmem: null\n  hbm_to_l2: {setup: 1 ns, source: t}\n"
      "  l2_to_vmem: {setup: 1 ns, source: t}\n"));
  ASSERT_EQ(device.memory.size(), 3u);
  EXPECT_EQ(device.memory[1].name, "l2");
  EXPECT_EQ(device.memory[2].name, "vmem");
}

TEST_F(Extends, TakesAPresetByName) {
  const Device device = load_device(write(
      "next.yaml", "extends: tpu_v3\nmemory: {hbm: {bandwidth: 900 GB/s, source: what if}}\n"));
  EXPECT_EQ(device.main_memory().bandwidth.value, 900e9);
  EXPECT_EQ(device.matrix.count, load_device("tpu_v3").matrix.count);
  EXPECT_TRUE(device.published.empty());
}

TEST_F(Extends, RefusesCyclesAndLongChains) {
  write("a.yaml", "extends: b.yaml\n");
  const std::string b = write("b.yaml", "extends: a.yaml\n");
  EXPECT_THAT(load_message(b), HasSubstr("a.yaml:1:1: extends: 'b.yaml' extends itself"));
  std::string last = "base.yaml";
  for (int i = 0; i < 10; ++i) {
    const std::string name = "link" + std::to_string(i) + ".yaml";
    write(name, "extends: " + last + "\n");
    last = name;
  }
  EXPECT_EQ(load_message(write("link7.yaml", "extends: link6.yaml\n")), "loaded");
  EXPECT_THAT(load_message(at("link8.yaml")), HasSubstr("got a chain of more than 8 files"));
}

TEST_F(Extends, NamesTheChildWhenTheParentIsWrong) {
  write("bad.yaml", "clock: 1 GHz\nclock: 2 GHz\n");
  EXPECT_EQ(load_message(write("next.yaml", "extends: bad.yaml\n")),
            "bad.yaml:2:1: duplicate key 'clock'; it was first given at bad.yaml:1:1\n"
            "  extended by next.yaml:1:1");
  EXPECT_THAT(load_message(write("next.yaml", "extends: nowhere.yaml\n")),
              HasSubstr("nowhere.yaml: cannot open"));
  EXPECT_THAT(load_message(write("next.yaml", "extends: tpu_v33\n")),
              HasSubstr("next.yaml:1:1: extends: device 'tpu_v33': no such preset; did you mean "));
}

TEST_F(Extends, LoadsPresetsFromTheFolderTheUserNames) {
  ASSERT_EQ(setenv("TILECAST_DEVICES", folder().c_str(), 1), 0);
  const std::vector<std::string> names = preset_names();
  const double clock = load_device("base").clock.value;
  unsetenv("TILECAST_DEVICES");
  EXPECT_THAT(names, testing::ElementsAre("base"));
  EXPECT_EQ(clock, 1e9);
}

TEST(LoadDevice, NamesTheNearestPreset) {
  const std::string error = support::error_of([&] { return load_device("tpu-v3"); });
  EXPECT_THAT(error, HasSubstr("device 'tpu-v3': no such preset; did you mean 'tpu_v"));
  EXPECT_THAT(error, HasSubstr("presets: a100_pcie_40gb, a100_sxm_40gb, "));
}

TEST(LoadDevice, RefusesAFolder) {
  EXPECT_THROW((void)load_device("./"), Error);
}

TEST(Flatten, ListsEveryLeafByTheNameThatSetsIt) {
  const Device device = parse_device(kSmall, "chip.yaml");
  for (const auto& [path, value] : flatten(device)) {
    if (path == "name") continue;
    EXPECT_EQ(flatten(parse_device(kSmall, "chip.yaml", {{path, value}})), flatten(device)) << path;
  }
}

TEST(SchemaHelp, NamesEveryKeyOfAFullDevice) {
  const std::string help = schema_help();
  for (const char* key :
       {"clock", "<level>:", "<level>_to_<next>:", "<quantity>:", "bandwidth", "passes", "op_cost",
        "kernel_launch", "1 KB/s .. 1000 TB/s", "(required)"}) {
    EXPECT_THAT(help, HasSubstr(key));
  }
}

}  // namespace
}  // namespace tilecast::hwdesc
