// Third-party measurements, unchanged and with injected faults. The tests are skipped without the
// files.
#include <gmock/gmock.h>

#include <filesystem>

#include "measured/importers/importer.h"
#include "tests/hybrid/poisoned_sets.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/folders.h"
#include "tests/support/texts.h"

namespace tilecast::hybrid {
namespace {

namespace fs = std::filesystem;
using hwdesc::Device;
using measured::SampleSet;
using testing::HasSubstr;

class PoisonedPublicData : public testing::Test {
 protected:
  // Rows of the files as samples of each device: every n-th row, of which the even ones are fitted
  // and the odd ones scored.
  void load(const std::string& mapping, const std::vector<std::string>& files,
            const std::vector<std::string>& devices, std::size_t rows_each) {
    const fs::path data = support::shared_dir() / "data";
    std::vector<std::string> inputs;
    for (const std::string& file : files) {
      if (!fs::exists(data / file)) GTEST_SKIP() << data / file << " is not there";
      inputs.push_back((data / file).string());
    }
    measured::ImportOptions options;
    options.output = folder_.path() + "/set";
    (void)measured::import_operators(
        inputs, support::source_dir().string() + "/configs/imports/" + mapping + ".yaml", options);
    const measured::MeasurementSet all = measured::read_measurement_set(options.output);
    for (const std::string& name : devices) {
      devices_.push_back(hwdesc::load_device(name));
      for (const bool scored : {false, true}) {
        measured::MeasurementSet some = all;
        std::erase_if(some.rows, [&](const auto& row) { return row.device != name; });
        const std::size_t step = some.rows.size() / (2 * rows_each);
        std::size_t i = 0;
        std::erase_if(some.rows, [&](const auto&) {
          const std::size_t at = i++;
          return at % step != 0 || (at / step % 2 == 1) != scored;
        });
        (scored ? clean_ : sets_).push_back(measured::make_samples(some, devices_.back()));
        (scored ? clean_ : sets_).back().name = "set " + name;
      }
    }
  }

  std::size_t rows() const {
    std::size_t sum = 0;
    for (const SampleSet& set : sets_) sum += set.samples.size();
    return sum;
  }

  std::vector<Device> devices_;
  std::vector<SampleSet> sets_, clean_;  // by device

 private:
  measured::SetOnDisk folder_;
};

const std::vector<std::string> kLinear{
    "neusight/train_linear_Tesla_P4.csv.gz", "neusight/train_linear_Tesla_P100-PCIE-16GB.csv.gz",
    "neusight/train_linear_Tesla_T4.csv.gz", "neusight/train_linear_Tesla_V100-PCIE-32GB.csv.gz"};
const std::vector<std::string> kGpus{"p4", "p100_pcie", "t4", "v100_pcie"};
constexpr std::size_t kRows = 60;

TEST_F(PoisonedPublicData, CleanProductsOfFourGpusStay) {
  ASSERT_NO_FATAL_FAILURE(load("neusight", kLinear, kGpus, kRows));
  if (IsSkipped()) return;
  const Screened result = screen(kPhysics, sets_, devices_, 2);
  EXPECT_LE(lines_apart(result.apart).size(), rows() / 50);
}

TEST_F(PoisonedPublicData, AThrottledGpuAmongFour) {
  ASSERT_NO_FATAL_FAILURE(load("neusight", kLinear, kGpus, kRows));
  if (IsSkipped()) return;
  const Lines slow = slow_down(sets_[2], devices_[2], 4, is_bound_by_units);
  const FittedHybrid fitted = expect_no_harm(sets_, devices_, clean_, devices_);
  EXPECT_TRUE(std::ranges::includes(lines_apart(fitted.apart), slow));
  EXPECT_LE(lines_apart(fitted.apart).size(), sets_[2].samples.size() + rows() / 50);
}

TEST_F(PoisonedPublicData, AGpuWhoseTimesAreAThousandTimesTooLong) {
  ASSERT_NO_FATAL_FAILURE(load("neusight", kLinear, kGpus, kRows));
  if (IsSkipped()) return;
  const Lines slipped = slow_down(sets_[0], devices_[0], 1000);
  const FittedHybrid fitted = expect_no_harm(sets_, devices_, clean_, devices_);
  EXPECT_TRUE(std::ranges::includes(lines_apart(fitted.apart), slipped));
}

TEST_F(PoisonedPublicData, AThrottledGpuOfTwo) {
  ASSERT_NO_FATAL_FAILURE(
      load("pipeweave_gemm_fp8", {"pipeweave/gemm_fp8_h20_h800.csv"}, {"h20", "h800"}, kRows));
  if (IsSkipped()) return;
  EXPECT_TRUE(screen(kPhysics, sets_, devices_, 2).apart.empty());
  const Lines slow = slow_down(sets_[0], devices_[0], 4, is_bound_by_units);
  const FittedHybrid fitted = expect_no_harm(sets_, devices_, clean_, devices_);
  EXPECT_TRUE(std::ranges::includes(lines_apart(fitted.apart), slow));
  EXPECT_LE(lines_apart(fitted.apart).size(), sets_[0].samples.size());
}

// Products of an H100 in bf16 and f32; those labelled bf16 ran in f32.
TEST_F(PoisonedPublicData, ProductsThatSayBf16AndRanInF32) {
  ASSERT_NO_FATAL_FAILURE(load("xla_gpu_matmul", {"xla_gpu/h100_matmul.csv"}, {"h100_sxm"}, 500));
  if (IsSkipped()) return;
  std::map<std::string, Seconds> f32;  // by name of the workload
  for (SampleSet* set : {&sets_[0], &clean_[0]}) {
    std::erase_if(set->samples, [&](const measured::Sample& sample) {
      return set->works[sample.work].name.find("f8") != std::string::npos;
    });
    for (const measured::Sample& sample : set->samples) {
      f32.emplace(set->works[sample.work].name, sample.measured);
    }
  }
  EXPECT_LE(lines_apart(screen(kPhysics, sets_, devices_, 2).apart).size(), rows() / 50);
  Lines poisoned;
  for (measured::Sample& sample : sets_[0].samples) {
    const std::string& name = sets_[0].works[sample.work].name;
    if (name.find(" f32") != std::string::npos) continue;
    const auto partner = f32.find(support::replaced_all(name, "bf16", "f32"));
    if (partner == f32.end()) continue;
    sample.measured = partner->second;
    poisoned.emplace(sets_[0].name, sample.line);
  }
  ASSERT_GT(poisoned.size(), 100U);
  const FittedHybrid fitted = expect_no_harm(sets_, devices_, clean_, devices_);
  EXPECT_TRUE(std::ranges::includes(lines_apart(fitted.apart), poisoned));
}

}  // namespace
}  // namespace tilecast::hybrid
