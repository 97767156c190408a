// Checks the presets: each loads, its parts give the published peaks, and every block states the
// source of its numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"

namespace tilecast::hwdesc {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Presets, AreSortedAndHoldTheKnownDevices) {
  const std::vector<std::string> names = preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  std::istringstream known(
      "a100_pcie_40gb a100_sxm_40gb a4000 b200 cpu_generic h100_pcie h100_sxm h20 h200_sxm h800 "
      "l4 mi100 mi210 mi250x mi300x p100_pcie p4 rtx_3070 rtx_3090 t4 titan_rtx tpu_v2 tpu_v3 "
      "tpu_v4 tpu_v5e tpu_v5p tpu_v6e tpu_v7x v100_pcie w6600");
  for (std::string name; known >> name;) EXPECT_THAT(names, Contains(name));
}

// If tensor cores do not support 32-bit operands, f32 products use the lanes of the vector unit.
TEST(Presets, MultiplySingleFloatsOnTheVectorLanesWhereTensorCoresCannot) {
  for (const std::string name :
       {"a100_pcie_40gb", "a4000", "p100_pcie", "p4", "t4", "titan_rtx", "v100_pcie", "w6600"}) {
    const Device device = load_device(name);
    EXPECT_DOUBLE_EQ(device.matrix_peak("f32") / (2 * device.vector_peak()), 1.0) << name;
  }
}

TEST(Presets, GiveThePublishedPeaksAndNameTheirSources) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    EXPECT_FALSE(device.published.empty()) << name;
    for (const CheckResult& result : check(device)) {
      EXPECT_NE(result.verdict, Verdict::kDiffers) << name << ": " << result.message;
    }
  }
}

// A number that was derived from a peak, "clock derived from 197 TFLOP/s", proves nothing when
// compared with that peak again.
TEST(Presets, AreNotComparedWithThePeaksTheyWereDerivedFrom) {
  const std::regex peak("([0-9.]+ TFLOP/s)");
  for (const std::string& name : preset_names()) {
    std::ifstream file(preset_path(name));
    std::set<std::string> used;
    bool is_published = false;
    for (std::string line; std::getline(file, line);) {
      is_published |= line.starts_with("published:");
      if (!is_published && line.find("source:") == std::string::npos) continue;
      for (std::sregex_iterator found(line.begin(), line.end(), peak), end; found != end; ++found) {
        if (is_published) {
          EXPECT_FALSE(used.contains((*found)[1])) << name << ": " << line;
        } else {
          used.insert((*found)[1]);
        }
      }
    }
    EXPECT_TRUE(is_published) << name;
  }
}

TEST(Presets, PrintToYamlThatLoadsAsTheSameDevice) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    const std::string printed = print_device(device);
    EXPECT_EQ(flatten(parse_device(printed, name + ".yaml")), flatten(device)) << printed;
  }
}

TEST(Presets, AreNamedAfterTheirFile) {
  for (const std::string& name : preset_names()) EXPECT_EQ(load_device(name).name, name);
}

TEST(Presets, HaveFiniteRoofsThatOrderTheMemoryChain) {
  for (const std::string& name : preset_names()) {
    const Device device = load_device(name);
    ASSERT_EQ(device.engines.size(), device.memory.size() - 1) << name;
    for (std::size_t i = 1; i < device.memory.size(); ++i) {
      EXPECT_GE(device.memory[i].bandwidth, device.memory[i - 1].bandwidth) << name;
      EXPECT_LE(device.memory[i].latency, device.memory[i - 1].latency) << name;
    }
  }
}

// DRAM has a turnaround time between reads and writes; TPUs write 10 to 30 % slower than they read.
TEST(Presets, OfTpusWriteMainMemorySlowerThanTheyRead) {
  for (const char* name : {"tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e"}) {
    const MemoryLevel hbm = load_device(name).main_memory();
    const double ratio = hbm.sustained_write().value / hbm.sustained_read().value;
    EXPECT_GT(ratio, 0.7) << name;
    EXPECT_LT(ratio, 0.9) << name;
  }
}

TEST(Check, SaysWhichPeakIsOffAndByHowMuch) {
  const Device device = load_device("tpu_v3", {{"clock", "470 MHz"}});
  const std::vector<CheckResult> results = check(device);
  EXPECT_EQ(results[0].what, "bf16 per chip");
  EXPECT_EQ(results[0].verdict, Verdict::kDiffers);
  EXPECT_NEAR(results[0].deviation, -0.5, 0.01);
  EXPECT_EQ(results[1].verdict, Verdict::kAgrees) << results[1].message;
}

Verdict verdict_of(const Device& device, const std::string& what) {
  for (const CheckResult& result : check(device)) {
    if (result.what == what) return result.verdict;
  }
  ADD_FAILURE() << "no row " << what;
  return Verdict::kDiffers;
}

TEST(Check, AgreesOnlyWithWhatSomebodyPublishes) {
  const Device device = load_device("tpu_v3");
  EXPECT_EQ(verdict_of(device, "hbm.capacity per chip"), Verdict::kAgrees);
  EXPECT_EQ(verdict_of(device, "vmem capacity"), Verdict::kNotPublished);
  EXPECT_EQ(verdict_of(device, "vector peak"), Verdict::kNotPublished);
  EXPECT_EQ(verdict_of(device, "matrix.source"), Verdict::kAgrees);
  EXPECT_EQ(verdict_of(device, "transcendental.source"), Verdict::kNotPublished);
}

TEST(Check, FlagsInheritedSharesOfAnotherClockOrAnotherNumberOfWorkers) {
  EXPECT_THAT(load_device("h100_sxm").outdated, testing::IsEmpty());
  const Device cut = load_device("h100_sxm", {{"multiplexing.workers", "66"}});
  EXPECT_EQ(verdict_of(cut, "memory.shared.bandwidth"), Verdict::kDiffers);
  EXPECT_EQ(verdict_of(cut, "memory.hbm.efficiency"), Verdict::kDiffers);
  EXPECT_THAT(cut.outdated[0],
              testing::AllOf(HasSubstr("h100_sxm.yaml"),
                             HasSubstr("workers has changed since: --set multiplexing")));
  const Device restated = load_device("h100_sxm", {{"clock", "990 MHz"},
                                                   {"shared.bandwidth", "16.7 TB/s"},
                                                   {"vector.source", "measured again"}});
  EXPECT_THAT(restated.outdated, Not(Contains(HasSubstr("memory.shared.bandwidth"))));
  EXPECT_THAT(restated.outdated, Not(Contains(HasSubstr("vector.efficiency"))));
  EXPECT_THAT(restated.outdated, Contains(HasSubstr("matrix.efficiency")));
}

TEST(Check, ComparesAcrossAllCoresOfTheChip) {
  const Device device = load_device("tpu_v3");
  EXPECT_DOUBLE_EQ(check(device)[0].computed_si,
                   device.cores_per_chip * device.matrix_peak("bf16").value);
}

TEST(MatrixPeak, IsTheProductOfItsParts) {
  const Device device = load_device("tpu_v3");
  EXPECT_DOUBLE_EQ(device.matrix_peak("bf16").value, 2.0 * 128 * 128 * 2 * 940e6);
  EXPECT_DOUBLE_EQ(device.vector_peak().value, 128.0 * 8 * 2 * 940e6);
}

TEST(MatrixPeak, IsZeroForATypeTheUnitCannotMultiply) {
  EXPECT_EQ(load_device("tpu_v3").matrix_peak("f64").value, 0);
}

TEST(MatrixPeak, LetsOneEntryStandForTheVariantsOfAType) {
  const Device device = load_device("h100_sxm");
  EXPECT_EQ(device.matrix_peak("f8e4m3fn"), device.matrix_peak("f8"));
  EXPECT_DOUBLE_EQ(device.matrix_peak("f8e5m2") / device.matrix_peak("bf16"), 2.0);
}

}  // namespace
}  // namespace tilecast::hwdesc
