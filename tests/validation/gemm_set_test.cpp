#include "validation/measure_cuda/gemm_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/source_text.h"
#include "measured/csv.h"
#include "measured/measurement_set.h"
#include "tests/support/folders.h"

namespace tilecast::measure_cuda {
namespace {

namespace fs = std::filesystem;

constexpr GemmSize kSize{1024, 512, 256, "square"};

GemmMeasurement timed(const GemmConfig& config, double seconds) {
  GemmMeasurement at{kSize, Input::kBf16, config, {}};
  at.outcome.minimum_s = at.outcome.median_s = seconds;
  at.outcome.spread_s = seconds / 100;
  at.outcome.calls = 70;
  return at;
}

class GemmSet : public testing::Test, protected support::Folder {
 protected:
  measured::MeasurementSet written(const std::vector<GemmMeasurement>& measurements) {
    SetDescription about;
    about.name = "test";
    about.device = "cpu_generic";
    about.card.name = "a card";
    about.date = "2026-01-31";
    write_gemm_set(at("set"), /*force=*/false, about, measurements);
    return measured::read_measurement_set(at("set"));
  }
};

TEST_F(GemmSet, HoldsEveryConfiguration) {
  const measured::MeasurementSet set =
      written({timed({64, 128, 32, 4, 1}, 5e-5), timed({64, 128, 32, 8, 3}, 2e-5),
               timed({64, 128, 32, 8, 5}, 3e-5), timed({128, 128, 16, 8, 2}, 4e-5)});
  ASSERT_EQ(set.rows.size(), 4U);
  EXPECT_TRUE(set.faults.empty());
  EXPECT_DOUBLE_EQ(set.rows[1].runtime->value, 2e-5);
  EXPECT_EQ(set.rows[1].tile.output, (ir::Dims{64, 128}));
  EXPECT_EQ(set.rows[1].tile.kernel, (ir::Dims{32, 128}));
  EXPECT_EQ(set.rows[1].tile.stages, 3);
  EXPECT_EQ(set.rows[1].tile.warps, 8);
  EXPECT_EQ(set.rows[1].repeats, 70);
  EXPECT_DOUBLE_EQ(set.rows[3].runtime->value, 4e-5);
  EXPECT_EQ(measured::operator_key(set.table, set.table.rows[3]),
            "op=matmul dtype=bf16 m=1024 n=512 k=256");
}

TEST_F(GemmSet, KeepsWhatWasNotTimedBesideTheSet) {
  GemmMeasurement large{kSize, Input::kBf16, {256, 128, 64, 8, 5}, {}};
  large.outcome.status = GemmStatus::kDoesNotFit;
  large.outcome.message = "needs more";
  const measured::MeasurementSet set = written({timed({64, 64, 16, 4, 2}, 1e-4), large});
  EXPECT_EQ(set.rows.size(), 1U);
  const measured::CsvTable all =
      measured::read_csv(base::SourceText::read_file(at("set/not_timed.csv")));
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.cell(all.rows[0], "status"), "does_not_fit");
  EXPECT_EQ(all.cell(all.rows[0], "reason"), "needs more");
  EXPECT_EQ(all.cell(all.rows[0], "runtime_ns"), "");
}

TEST(GemmConfigs, CutIntoWholeFragmentsThatThreadsCanHold) {
  for (const GemmConfig& c : gemm_configs()) {
    const int rows = warp_rows(c.block_m, c.block_n, c.warps);
    EXPECT_EQ(c.block_m % (rows * kFragment), 0);
    EXPECT_EQ(c.warps % rows, 0);
    EXPECT_EQ(c.block_n % (c.warps / rows * kFragment), 0);
    EXPECT_LE(sums_per_thread(c.block_m, c.block_n, c.warps), kMaxSumsPerThread);
    EXPECT_GE(shared_bytes(c), c.stages * 2 * c.block_k * (c.block_m + c.block_n));
  }
}

TEST(GemmConfigs, SizesAreMadeOfWholeCopies) {
  for (const GemmSize& size : gemm_sizes()) {
    EXPECT_EQ(size.n % kAlign, 0);
    EXPECT_EQ(size.k % kAlign, 0);
  }
}

TEST(GemmConfigs, ShufflingKeepsEveryConfiguration) {
  const std::vector<GemmConfig> listed = gemm_configs();
  const std::vector<GemmConfig> order = shuffled(listed, 7);
  EXPECT_NE(order, listed);
  EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), listed.begin(), listed.end()));
  EXPECT_EQ(order, shuffled(listed, 7));
}

TEST(Cards, NameDescriptionsThatExist) {
  const measured::CsvTable table =
      measured::read_csv(base::SourceText::read_file(TILECAST_CUDA_CARDS));
  for (const measured::CsvRow& row : table.rows) {
    const std::string device =
        device_of_card(std::string(table.cell(row, "card")), TILECAST_CUDA_CARDS);
    EXPECT_TRUE(fs::exists(fs::path(TILECAST_DEVICES) / (device + ".yaml"))) << device;
  }
  EXPECT_THROW((void)device_of_card("a card nobody has", TILECAST_CUDA_CARDS), Error);
}

}  // namespace
}  // namespace tilecast::measure_cuda
