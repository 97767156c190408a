// The shipped mappings on the public files for which they are made. The files are third-party: they
// are read in place ($TILECAST_SHARED/data, or ../shared/data beside the sources); without them
// these tests are skipped.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "measured/csv.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  return support::shared_dir() / "data";
}

std::string mapping(const std::string& name) {
  return support::source_dir().string() + "/configs/imports/" + name + ".yaml";
}

class PublicData : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(data_folder())) GTEST_SKIP() << data_folder() << " is not there";
  }
  [[nodiscard]] ImportOptions options(const std::string& name) const {
    ImportOptions options;
    options.output = folder_.path() + "/" + name;
    return options;
  }
  MeasurementSet operators(const std::string& name, const fs::path& input) const {
    const ImportReport report =
        import_operators({(data_folder() / input).string()}, mapping(name), options(name));
    MeasurementSet set = read_measurement_set(options(name).output);
    EXPECT_EQ(static_cast<std::int64_t>(set.rows.size() + set.faults.size()), report.rows);
    return set;
  }

  SetOnDisk folder_;
};

TEST_F(PublicData, EveryMappingGivesASetThatReads) {
  EXPECT_EQ(operators("llmcompass_tpu_v3", "llmcompass").rows.size(), 52u);
  // Both sweeps of softmax and layer norm contain 4096 x 4096: the second one is a duplicate.
  const MeasurementSet a100 = operators("llmcompass_a100", "llmcompass");
  EXPECT_EQ(a100.rows.size(), 82u);
  EXPECT_EQ(a100.faults.size(), 2u);
  EXPECT_EQ(operators("paradnn_fc_tpu_v2", "paradnn_tpu_v2").rows.size(), 857u);
  EXPECT_EQ(operators("pipeweave_gemm_fp8", "pipeweave").rows.size(), 2u * 8409);
  EXPECT_EQ(operators("kernel_tuner_gemm", "kernel_tuner/gemm_RTX_3090.csv.gz").rows.size(), 16u);
}

TEST_F(PublicData, EveryConfigurationThatRanArrivesWithItsParameters) {
  // Of 4362 configurations, 161 do not run on this GPU.
  const MeasurementSet convolution =
      operators("kernel_tuner_convolution_all", "kernel_tuner/convolution_milo_A100.csv.gz");
  EXPECT_EQ(convolution.rows.size(), 4362u - 161);
  EXPECT_EQ(convolution.parameter_names.size(), 8u);
  EXPECT_EQ(convolution.rows[0].parameters, (std::vector<float>{16, 1, 1, 1, 0, 0, 0, 1}));
  const MeasurementSet gemm =
      operators("kernel_tuner_gemm_all", "kernel_tuner/gemm_RTX_3090.csv.gz");
  EXPECT_EQ(gemm.rows.size(), 17956u);
  EXPECT_EQ(gemm.parameter_names.size(), 14u);
}

TEST_F(PublicData, NeuSightImportsWholeOnFiveDevices) {
  const ImportReport report = import_operators({(data_folder() / "neusight").string()},
                                               mapping("neusight"), options("neusight"));
  EXPECT_EQ(report.rows, 150'977);
  EXPECT_THAT(report.left_out, testing::IsEmpty());
}

// Two of the files, cell by cell with the other CSV reader.
TEST_F(PublicData, TimesAreThoseOfTheFiles) {
  const MeasurementSet set = operators("llmcompass_tpu_v3", "llmcompass");
  const fs::path file = data_folder() / "llmcompass" / "tpu_v3_matmul.csv";
  const CsvTable table = read_csv(base::SourceText::read_file(file.string()));
  std::size_t at = 0;
  for (const MeasurementRow& row : set.rows) {
    const CsvRow& ours = set.table.rows[row.table_row];
    if (set.table.cell(ours, "op") != "matmul") continue;
    const CsvRow& theirs = table.rows.at(at++);
    EXPECT_EQ(set.table.cell(ours, "m"), table.cell(theirs, "m"));
    EXPECT_NEAR(row.runtime->value, std::stod(std::string(table.cell(theirs, "latency_ms"))) * 1e-3,
                1e-12);
    ASSERT_TRUE(row.dispatch.has_value());
    EXPECT_NEAR(row.dispatch->value,
                std::stod(std::string(table.cell(theirs, "dispatch_overhead_ms"))) * 1e-3, 1e-12);
  }
  EXPECT_EQ(at, table.rows.size());
}

TEST_F(PublicData, TileRunsOfEightKernelsKeepThoseWithATile) {
  const fs::path folder = data_folder() / "tpu_v3_tiles";
  const ImportReport report = import_operators({(folder / "tile_runs.csv").string()},
                                               mapping("tpu_v3_tiles"), options("tiles"));
  EXPECT_EQ(report.rows, 681 - 2 - 5);  // all, failed, without bounds
  const MeasurementSet set = read_measurement_set(options("tiles").output);
  EXPECT_EQ(static_cast<std::int64_t>(set.rows.size() + set.faults.size()), report.rows);
}

TEST_F(PublicData, AWholeProgramComesWithItsDefaultRun) {
  const MeasurementSet set = operators("tpu_v3_unet3d", "tpu_v3_unet3d/layout_runs.csv");
  ASSERT_EQ(set.rows.size(), 1u);
  EXPECT_NEAR(set.rows[0].runtime->value, 0.911, 0.001);
}

// {rows, columns} of the tile in the name of a kernel, "volta_sgemm_128x64_tn"; {0, 0} without one.
std::pair<double, double> tile_in(std::string_view kernel) {
  const std::size_t at = kernel.find("sgemm_");
  if (at == std::string_view::npos) return {};
  int rows = 0, columns = 0;
  const std::string size(kernel.substr(at + 6, 16));
  if (std::sscanf(size.c_str(), "%dx%d_", &rows, &columns) != 2) return {};
  if (size.find("sliced") != std::string::npos) return {};
  return {rows, columns};
}

// The mapping's statement about NeuSight's columns: a grid covers K x M with tiles, never only N x
// M.
TEST_F(PublicData, NeuSightsKIsTheWidthOfTheResult) {
  for (const char* name : {"train_bmm_Tesla_T4.csv.gz", "train_linear_Tesla_T4.csv.gz"}) {
    ByteSource source((data_folder() / "neusight" / name).string());
    CsvReader rows(source.path(), source.reader());
    const auto column = [&](const char* title) {
      return column_index(rows.columns(), title, name);
    };
    const auto kernel = column("Kernel Name"), x = column("Grid x"), y = column("Grid y"),
               m = column("M"), n = column("N"), k = column("K");
    std::vector<std::string_view> cells;
    int as_k = 0, as_n = 0, all = 0;
    while (rows.next(cells)) {
      const auto [tile_rows, tile_columns] = tile_in(cells[kernel]);
      if (tile_rows == 0) continue;
      const auto number = [&](std::size_t i) { return std::stod(std::string(cells[i])); };
      const double blocks = number(x) * number(y), high = std::ceil(number(m) / tile_columns);
      ++all;
      as_k += blocks == std::ceil(number(k) / tile_rows) * high ? 1 : 0;
      as_n += blocks == std::ceil(number(n) / tile_rows) * high ? 1 : 0;
    }
    EXPECT_GT(all, 5000) << name;
    EXPECT_EQ(as_k, all) << name;
    EXPECT_LT(as_n, all / 2) << name;
  }
}

}  // namespace
}  // namespace tilecast::measured
