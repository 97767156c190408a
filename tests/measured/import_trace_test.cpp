// Profiles to measurement sets: device time, averaging of occurrences, and notes about unmatched
// time. Times are computed by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "measured/csv.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "measured/importers/trace_events.h"
#include "measured/measurement_set.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const char* const kModule =
    "HloModule jit_step, is_scheduled=true\n"
    "ENTRY %main (p: f32[64,256]) -> f32[64,256] {\n"
    "  %p = f32[64,256]{1,0:T(8,128)} parameter(0)\n"
    "  %add.1 = f32[64,256]{1,0:T(8,128)} add(%p, %p)\n"
    "  %tanh.2 = f32[64,256]{1,0:T(8,128)} tanh(%add.1)\n"
    "  ROOT %copy.3 = f32[64,256]{1,0:T(8,128)} copy(%tanh.2)\n}\n";

std::string named(const char* what, int pid, int tid, const char* name) {
  return fmt::format(
      R"j({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": "{}"}}}})j", what, pid,
      tid, name);
}

std::string event(int pid, int tid, const char* name, const char* dur, const char* args = "{}") {
  return fmt::format(
      R"j({{"ph": "X", "name": "{}", "pid": {}, "tid": {}, "ts": 0, "dur": {}, "args": {}}})j",
      name, pid, tid, dur, args);
}

// A folder with a module and its trace; `out` is the set.
class Trace : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& file) const {
    return folder_.path() + "/" + file;
  }
  ImportReport import_events(const std::vector<std::string>& events) const {
    std::string text;
    for (const std::string& event : events) text += (text.empty() ? "" : ",\n") + event;
    return import_text(R"j({"displayTimeUnit": "ns", "traceEvents": [)j" + text + "]}");
  }
  ImportReport import_text(const std::string& text) const {
    folder_.write("step.hlo", kModule);
    folder_.write("trace.json", text);
    ImportOptions options;
    options.output = at("out");
    options.force = true;
    options.device = "tpu_v3";
    return import_trace({.traces = {at("trace.json")}, .module = at("step.hlo"), .manifest = {}},
                        options);
  }
  // Kernel (or program) -> nanoseconds.
  [[nodiscard]] std::map<std::string, double> times() const {
    std::map<std::string, double> times;
    for (const MeasurementRow& row : read_measurement_set(at("out")).rows) {
      times[row.is_program ? "program" : row.kernel] = std::round(row.runtime->value * 1e12) / 1e3;
    }
    return times;
  }

  SetOnDisk folder_;
};

TEST_F(Trace, OnlyTheOpsLanesOfDevicesCount) {
  (void)import_events(
      {named("process_name", 1, 0, "/host:CPU"), named("thread_name", 1, 1, "XLA Ops"),
       event(1, 1, "add.1", "1000"),  // on the host
       event(7, 3, "add.1", "2"), event(7, 4, "add.1", "500"), event(7, 5, "jit_step(12)", "9"),
       named("process_name", 7, 0, "/device:TPU:0"), named("thread_name", 7, 3, "XLA Ops"),
       named("thread_name", 7, 4, "Steps"), named("thread_name", 7, 5, "XLA Modules")});
  EXPECT_THAT(times(), ElementsAre(Pair("add.1", 2000), Pair("program", 9000)));
}

TEST_F(Trace, OccurrencesOnAllDevicesAreAveraged) {
  const ImportReport report = import_events(
      {named("process_name", 1, 0, "/device:TPU:0"), named("thread_name", 1, 3, "XLA Ops"),
       named("process_name", 2, 0, "/device:TPU:1"), named("thread_name", 2, 3, "XLA Ops"),
       event(1, 3, "tanh.2", "1"), event(1, 3, "tanh.2", "3"), event(2, 3, "tanh.2", "8")});
  EXPECT_EQ(report.rows, 1);
  const MeasurementSet set = read_measurement_set(at("out"));
  EXPECT_NEAR(set.rows.at(0).runtime->value, 4e-6, 1e-14);
  EXPECT_EQ(set.rows.at(0).repeats, 3);
  EXPECT_NEAR(set.rows.at(0).spread.value, std::sqrt(26.0 / 3) * 1e-6, 1e-12);  // 9 + 1 + 16
}

TEST_F(Trace, TheInstructionIsFoundInNameOpOrLongName) {
  (void)import_events(
      {named("process_name", 1, 0, "/device:GPU:0"),
       event(1, 14, "loop_add_kernel", "1",
             R"j({"hlo_op": "add.1", "hlo_module": "jit_step(3)"})j"),
       event(1, 14, "x", "2", R"j({"long_name": "%tanh.2 = f32[64,256] tanh(%add.1)"})j"),
       event(1, 14, "%copy.3", "3", R"j({"device_duration_ps": "2500000"})j")});
  EXPECT_THAT(times(),
              ElementsAre(Pair("add.1", 1000), Pair("copy.3", 2500), Pair("tanh.2", 2000)));
}

TEST_F(Trace, SeveralKernelsOfOneInstructionAddUp) {
  const char* args = R"j({"hlo_op": "add.1"})j";
  (void)import_events({named("process_name", 1, 0, "/device:GPU:0"),
                       event(1, 14, "memset", "1", args), event(1, 14, "gemm", "5", args),
                       event(1, 14, "memset", "1", args), event(1, 14, "gemm", "7", args)});
  EXPECT_THAT(times(), ElementsAre(Pair("add.1", 7000)));  // 14 us in two launches
}

TEST_F(Trace, MayEndWithoutItsClosingBracket) {
  for (const char* end : {"", ",", ",\n"}) {
    const ImportReport report = import_text("[" + event(1, 3, "add.1", "2") + end);
    EXPECT_THAT(times(), ElementsAre(Pair("add.1", 2000)));
    EXPECT_THAT(report.notes, Contains(HasSubstr("ends without its closing bracket")));
  }
  EXPECT_THROW((void)import_text("[" + event(1, 3, "add.1", "2") + ", {\"ph\": \"X\""), Error);
}

TEST_F(Trace, AnEventMayBeItsBeginAndItsEnd) {
  const auto at_time = [](const char* phase, const char* name, int us) {
    return fmt::format(R"j({{"ph": "{}", "name": "{}", "pid": 1, "tid": 2, "ts": {}}})j", phase,
                       name, us);
  };
  const ImportReport report = import_events({at_time("E", "add.1", 1), at_time("B", "add.1", 10),
                                             at_time("B", "tanh.2", 12), at_time("E", "", 15),
                                             at_time("E", "", 20), at_time("B", "copy.3", 30)});
  EXPECT_THAT(times(), ElementsAre(Pair("add.1", 10000), Pair("tanh.2", 3000)));
  EXPECT_THAT(report.left_out, ElementsAre(Pair("ends of events that did not begin", 1),
                                           Pair("events without an end", 1)));
}

TEST_F(Trace, OfPyTorchIsSaidByName) {
  EXPECT_THAT(
      support::error_of([&] {
        return import_text(
            R"j([{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 1, "dur": 2}])j");
      }),
      HasSubstr("kineto"));
}

TEST_F(Trace, TimeThatDoesNotMatchIsReported) {
  const ImportReport report = import_events(
      {named("process_name", 1, 0, "/device:TPU:0"), named("thread_name", 1, 3, "XLA Ops"),
       event(1, 3, "add.1", "1000"), event(1, 3, "fusion.77", "500"),
       event(1, 3, "add.1", "9000", R"j({"hlo_module": "jit_other(1)"})j")});
  EXPECT_THAT(times(), ElementsAre(Pair("add.1", 1e6)));
  EXPECT_THAT(report.notes, Contains(HasSubstr("1 of 3 kernels have times, 1 ms")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("0.5 ms in 1 events that are no instruction of the "
                                               "module: fusion.77")));
  EXPECT_THAT(report.notes, Contains("2 kernels of the module have no event: tanh.2, copy.3"));
  EXPECT_THAT(report.left_out, ElementsAre(Pair("events of other modules", 1)));
}

TEST_F(Trace, OurOwnTracesGoInAgainPerLaunch) {
  const ImportReport report = import_events(
      {named("process_name", 0, 0, "jit_step on tpu_v3"), named("thread_name", 0, 0, "compute"),
       event(0, 0, "tanh.2", "12", R"j({"launches": 4.0, "bound": "vector"})j")});
  EXPECT_THAT(times(), ElementsAre(Pair("tanh.2", 3000)));
  EXPECT_THAT(report.notes, Contains(HasSubstr("all lanes are taken for the device")));
}

TEST_F(Trace, ABareArrayOfEventsIsATraceToo) {
  EXPECT_EQ(import_text("[" + event(0, 0, "tanh.2", "12") + "]").rows, 1);
}

TEST_F(Trace, WhatIsNoTraceOfTheModuleIsRefused) {
  const std::string good = event(0, 0, "tanh.2", "12");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), good,
        R"j({"traceEvents": [)j" + good + "]} x", "[" + event(0, 0, "other", "12") + "]",
        "[" + event(0, 0, "tanh.2", "-1") + "]", "[" + event(0, 0, "tanh.2", "\"long\"") + "]",
        "[" + event(0, 0, "tanh.2", "1e999") + "]",
        "[" + std::string(100, '[') + std::string(100, ']') + "]"}) {
    EXPECT_THROW((void)import_text(text), Error) << text;
    EXPECT_FALSE(std::filesystem::exists(at("out"))) << text;
  }
}

// --- The shipped mappings on the public files for which they are made. The files are third-party:
// they are read in place ($TILECAST_SHARED/data, or ../shared/data beside the sources); without
// them these tests are skipped.

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
