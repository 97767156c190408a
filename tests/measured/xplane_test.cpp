// Profiles (XPlane): the lines of device planes, summation of occurrences, and notes about the
// rest. Times are computed by hand, in picoseconds.
#include "measured/importers/xplane.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "measured/importers/importer.h"
#include "measured/importers/trace_events.h"
#include "measured/importers/xplane_events.h"
#include "measured/importers/xplane_join.h"
#include "measured/measurement_set.h"
#include "tests/measured/xplane_profile.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr double kPs = 1e-12;

const XplaneTimes& times(const XplaneProfile& profile, const std::string& instruction,
                         std::size_t module = 0) {
  return profile.modules.at(module).instructions.at(instruction);
}

void expect_ps(Seconds time, double picoseconds) {
  EXPECT_NEAR(time.value / kPs, picoseconds, 1e-6 * std::max(picoseconds, 1.0));
}

TEST(Xplane, OpsThatNestKeepTheTimeTheirOpsInsideLeave) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.op("while.1", 5, 0, 1000);
  device.op("body.2", 5, 100, 300);
  device.op("inner.3", 5, 150, 50);
  device.op("body.2", 5, 500, 400);
  device.op("after.4", 5, 1000, 70);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  expect_ps(times(profile, "while.1").total, 1000 - 300 - 400);
  expect_ps(times(profile, "inner.3").total, 50);
  const XplaneTimes& body = times(profile, "body.2");
  EXPECT_EQ(body.occurrences, 2);
  expect_ps(body.total, 250 + 400);
  expect_ps(body.median, 325);
  expect_ps(body.min, 250);
  expect_ps(body.spread, 75);
  expect_ps(profile.device_time, 1070);
  EXPECT_EQ(body.category, "category of body.2");
  EXPECT_EQ(body.flops, 8);
  EXPECT_EQ(body.bytes_accessed, 64);
}

TEST(Xplane, EventsOutOfOrderNestAllTheSameAndCopiesOfOneDoNot) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.op("inner.2", 5, 150, 50);
  device.op("outer.1", 5, 100, 300);
  device.op("outer.1", 5, 100, 300);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  expect_ps(times(profile, "inner.2").total, 50);
  expect_ps(times(profile, "outer.1").total, 300 + 250);
}

TEST(Xplane, TheDevicesOwnClockCountsWhereItIsGiven) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.event(
      "%a.1 = f32[] add()", 0, 999,
      {{"device_offset_ps", std::uint64_t{5}}, {"device_duration_ps", std::uint64_t{100}}});
  expect_ps(read_xplane({disk.write()}, {}).device_time, 100);
}

TEST(Xplane, CoresAddUpAndModulesStepsAndPairsAreTheirOwn) {
  ProfileOnDisk disk;
  for (int core = 0; core < 2; ++core) {
    Plane device = disk.plane("/device:TPU:" + std::to_string(core));
    device.fact("device_type_string", std::string("TPU v9"));
    device.fact("peak_teraflops_per_second", 100.0);
    device.fact("peak_hbm_bw_gigabytes_per_second", 900.0);
    device.line("Steps");
    device.event("0", 0, 500);
    device.line("XLA Modules");
    device.event("jit_f(5)", 0, 400 + 100 * core);
    device.line("XLA Ops");
    device.op("copy-start.2", 5, 0, 1);
    device.op("tanh.1", 5, 1, 100 + 100 * core);
    device.op("copy-done.2", 5, 300, 50);
    device.line("Async XLA Ops");
    device.op("copy-start.2", 5, 0, 350);
    device.line("XLA TraceMe");
    device.event("barrier-cores", 0, 100000);
  }
  Plane sparse = disk.plane("/device:TPU:0 SparseCore 1");
  sparse.line("XLA Modules");
  sparse.event("jit_f(5)", 0, 7);
  sparse.line("XLA Ops");
  sparse.op("gather.9", 5, 0, 7);
  disk.plane("/host:metadata").module(5, "jit_f(5)", "proto");
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  EXPECT_EQ(profile.device.type, "TPU v9");
  EXPECT_EQ(profile.device.vendor, "Google");
  EXPECT_EQ(profile.device.cores, 2);
  EXPECT_EQ(profile.device.peak_flops, 100e12);
  EXPECT_EQ(profile.device.peak_bytes, 900e9);
  ASSERT_EQ(profile.modules.size(), 1);
  const XplaneModule& module = profile.modules[0];
  EXPECT_EQ(module.name, "jit_f");
  EXPECT_EQ(module.program_id, 5);
  EXPECT_EQ(module.hlo_proto, "proto");
  EXPECT_EQ(module.runs.occurrences, 2);
  expect_ps(module.runs.median, 450);
  expect_ps(times(profile, "tanh.1").median, 150);
  expect_ps(times(profile, "copy-start.2").total, 2);
  expect_ps(module.transfers.at("copy-start.2").median, 350);
  EXPECT_TRUE(module.transfers.at("copy-start.2").asynchronous);
  EXPECT_EQ(profile.steps.occurrences, 2);
  expect_ps(profile.device_time, 2 * (1 + 50) + 100 + 200 + 7);
  EXPECT_THAT(profile.notes, Contains(HasSubstr("not read: XLA Modules, XLA TraceMe")));
}

TEST(Xplane, OpsThatNameNoProgramAreOfTheModuleThatRuns) {
  ProfileOnDisk disk;
  Plane device = disk.plane("/device:TPU:0");
  device.line("XLA Modules");
  device.event("jit_f(5)", 0, 100);
  device.event("jit_g(6)", 200, 100);
  device.line("XLA Ops");
  device.event("%tanh.1 = f32[] tanh()", 10, 50);
  device.event("%tanh.2 = f32[] tanh()", 210, 40);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  ASSERT_EQ(profile.modules.size(), 2);
  expect_ps(times(profile, "tanh.1", 0).total, 50);
  EXPECT_EQ(profile.modules[0].name, "jit_f");
  expect_ps(times(profile, "tanh.2", 1).total, 40);
}

// One instruction with two kernels; the program runs twice in a row, then another one runs.
TEST(Xplane, KernelsOfOneInstructionAreOneOccurrence) {
  ProfileOnDisk disk;
  Plane device = disk.plane("/device:GPU:0");
  device.fact("clock_rate", std::uint64_t{2100000});
  device.fact("memory_bandwidth", std::uint64_t{2000000000000});
  device.fact("device_vendor", std::string("AMD"));
  device.line("Stream #16(Kernel)");
  device.kernel("Im2Col", "conv.1", 5, 0, 10);
  device.kernel("gemm", "conv.1", 5, 20, 30);
  device.kernel("add", "fusion.2", 5, 60, 5);
  device.kernel("Im2Col", "conv.1", 5, 100, 12);
  device.kernel("gemm", "conv.1", 5, 120, 34);
  device.kernel("add", "fusion.2", 5, 160, 7);
  device.kernel("gemm", "dot.1", 6, 200, 50);
  device.kernel("gemm", "dot.1", 6, 250, 60);
  device.event("copyBuffer.kd", 400, 90);
  device.event("MemcpyH2D", 500, 1000);
  device.line("XLA Ops");  // derived from the streams: not counted twice
  device.op("conv.1", 5, 0, 50);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  EXPECT_EQ(profile.device.vendor, "AMD");
  EXPECT_EQ(profile.device.clock_hz, 2.1e9);
  EXPECT_EQ(profile.device.peak_bytes, 2e12);
  ASSERT_EQ(profile.modules.size(), 2);
  const std::size_t conv = profile.modules[0].program_id == 5 ? 0 : 1;
  EXPECT_EQ(times(profile, "conv.1", conv).occurrences, 2);
  expect_ps(times(profile, "conv.1", conv).median, (40 + 46) / 2.0);
  EXPECT_EQ(profile.modules[conv].runs.occurrences, 2);
  expect_ps(profile.modules[conv].runs.min, 65);
  EXPECT_EQ(times(profile, "dot.1", 1 - conv).occurrences, 2);
  expect_ps(profile.device_time, 40 + 5 + 46 + 7 + 110 + 90);
  expect_ps(profile.host_transfers, 1000);
  ASSERT_EQ(profile.left_over.size(), 1);
  EXPECT_EQ(profile.left_over[0].category, "memcpy");
  expect_ps(profile.left_over[0].total, 90);
}

TEST(Xplane, EventsThatStandForManyAndImpossibleOnes) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.op("a.1", 5, 0, 100).set_num_occurrences(4);
  device.op("a.1", 5, 200, -7);
  device.op("a.1", 5, 300, std::int64_t{1} << 62);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  EXPECT_EQ(times(profile, "a.1").occurrences, 4);
  expect_ps(times(profile, "a.1").median, 25);
  EXPECT_THAT(profile.notes, Contains(HasSubstr("2 events left out")));
}

TEST(TimeSamples, MedianStaysWithinATenthOfAPercentInBoundedMemory) {
  TimeSamples samples;
  std::vector<double> all;
  for (int i = 0; i < 20001; ++i) {
    all.push_back(1e3 * std::exp(10 * std::fmod(i * 0.6180339887, 1.0)));
    samples.add(all.back());
  }
  std::nth_element(all.begin(), all.begin() + 10000, all.end());
  XplaneTimes result;
  samples.write_to(result);
  EXPECT_NEAR(result.median.value / (all[10000] * kPs), 1, 1.1e-3);
  EXPECT_EQ(result.occurrences, 20001);
}

TEST(SelfTimes, ASequenceThatStartsOverBeyondTheWindowIsANewOne) {
  std::int64_t total = 0, negative = 0;
  SelfTimes line([&](const XplaneEvent&, std::int64_t self) {
    total += self;
    negative += self < 0;
  });
  const auto count = static_cast<std::int64_t>(SelfTimes::kWindow);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t i = 0; i < count; ++i) {
      line.add({.start_ps = 10000 * i, .duration_ps = 2000, .kind = 1});
      line.add({.start_ps = 10000 * i + 500, .duration_ps = 500, .kind = 2});
    }
  }
  line.finish();
  EXPECT_EQ(total, 2 * count * 2000);
  EXPECT_EQ(negative, 0);
}

// 60,000 events are twice the size of the chunk in memory.
TEST(Xplane, LargerThanTheBufferPlainGzippedAndTwiceInOneFile) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  for (std::int64_t i = 0; i < 60000; ++i) device.op(i % 2 ? "a.1" : "b.2", 5, 100 * i, 40 + i % 3);
  const std::string bytes = disk.bytes();
  ASSERT_GT(bytes.size(), 1U << 19);
  const double total = 20000.0 * (40 + 41 + 42);
  expect_ps(read_xplane({disk.write()}, {}).device_time, total);
  const gzFile gz = gzopen(disk.at("packed.xplane.pb.gz").c_str(), "wb");
  gzwrite(gz, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(gz);
  double last = 0;
  const XplaneProfile packed =
      read_xplane({disk.at("packed.xplane.pb.gz")}, {.progress = [&](double done) {
                    EXPECT_GE(done, last);
                    last = done;
                  }});
  EXPECT_EQ(last, 1);
  expect_ps(packed.device_time, total);
  EXPECT_EQ(times(packed, "a.1").occurrences, 30000);
  disk.folder().write("twice.xplane.pb", bytes + bytes);
  const XplaneProfile twice = read_xplane({disk.at("twice.xplane.pb")}, {});
  expect_ps(twice.device_time, 2 * total);
  EXPECT_EQ(twice.device.cores, 1);
  for (const std::size_t size : {bytes.size() / 2, bytes.size() - 1}) {
    disk.folder().write("cut.xplane.pb", bytes.substr(0, size));
    EXPECT_THAT(support::error_of([&] { return read_xplane({disk.at("cut.xplane.pb")}, {}); }),
                HasSubstr("cut off at byte"));
  }
}

TEST(Xplane, ALogFolderIsItsNewestRunWithAllHosts) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.op("a.1", 5, 0, 100);
  for (const char* file : {"2026_01_02/a", "2026_01_02/b", "2025_12_31/c"}) {
    const std::string path = std::string("logs/plugins/profile/") + file + ".xplane.pb";
    std::filesystem::create_directories(std::filesystem::path(disk.at(path)).parent_path());
    disk.write(path);
  }
  const XplaneProfile profile = read_xplane({disk.at("logs")}, {});
  expect_ps(profile.device_time, 200);
  EXPECT_EQ(profile.device.cores, 2);
  std::filesystem::create_directories(disk.at("empty"));
  EXPECT_THAT(support::error_of([&] { return read_xplane({disk.at("empty")}, {}); }),
              HasSubstr("holds no profile"));
  ProfileOnDisk host;
  host.plane("/host:CPU").line("python");
  EXPECT_THAT(support::error_of([&] { return read_xplane({host.write()}, {}); }),
              HasSubstr("a profile of the host only"));
}

TEST(Xplane, InstructionsOfXlaCpuStandAmongTheHostsEvents) {
  ProfileOnDisk disk;
  Plane host = disk.plane("/host:CPU");
  host.line("tf_XLAPjRtCpuClient/1");
  host.event("ThunkExecutor::Execute", 0, 1000);
  host.kernel("while.1", "while.1", 7, 0, 600);
  host.kernel("fusion.2", "fusion.2", 7, 100, 200);
  host.event("end: fusion.2", 300, 1);
  host.kernel("fusion.2", "fusion.2", 7, 400, 100);
  host.line("python");
  host.event("step", 0, 2000);
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  expect_ps(profile.device_time, 600);
  ASSERT_EQ(profile.modules.size(), 1U);
  const auto& instructions = profile.modules[0].instructions;
  ASSERT_EQ(instructions.size(), 2U);
  expect_ps(instructions.at("while.1").total, 300);  // less what runs inside it
  expect_ps(instructions.at("fusion.2").total, 300);
  EXPECT_EQ(instructions.at("fusion.2").occurrences, 2);
}

TEST(Xplane, BesideDevicesTheHostsInstructionsAreNotRead) {
  ProfileOnDisk disk;
  Plane host = disk.plane("/host:CPU");
  host.line("tf_XLAPjRtCpuClient/1");
  host.kernel("fusion.2", "fusion.2", 7, 0, 100);
  Plane device = disk.core();
  device.op("a.1", 5, 0, 50);
  expect_ps(read_xplane({disk.write()}, {}).device_time, 50);
}

// A core with one program known by its proto and one unknown program.
std::string two_programs(ProfileOnDisk& disk) {
  Plane device = disk.plane("/device:TPU:0");
  device.fact("device_type_string", std::string("TPU v9"));
  device.line("XLA Modules");
  device.event("jit_f(5)", 0, 400000);
  device.event("jit_g(6)", 500000, 90000);
  device.line("XLA Ops");
  device.op("tanh.1", 5, 0, 100000);
  device.op("copy-start.2", 5, 100000, 1000);
  device.op("copy-done.2", 5, 300000, 50000);
  device.op("lost.7", 5, 350000, 20000);
  device.op("tanh.1", 6, 500000, 80000);
  device.line("Async XLA Ops");
  device.op("copy-start.2", 5, 100000, 250000);
  disk.plane("/host:metadata").module(5, "jit_f(5)", module_proto("jit_f"));
  return disk.write();
}

TEST(Xplane, JoinsInstructionsToKernelsAndListsTheRest) {
  ProfileOnDisk disk;
  const XplaneProfile profile = read_xplane({two_programs(disk)}, {});
  const XplaneJoin join = join_modules(profile, {});
  ASSERT_EQ(join.modules.size(), 1);
  EXPECT_THAT(join.modules[0].kernels,
              UnorderedElementsAre(Pair("tanh.1", testing::_), Pair("copy-start.2", testing::_)));
  expect_ps(join.modules[0].kernels.at("copy-start.2").median, 250000);
  expect_ps(join.kernels, 100000 + 1000 + 50000);
  ASSERT_EQ(join.left_over.size(), 2);
  EXPECT_EQ(join.left_over[0].category, "unknown module");
  EXPECT_EQ(join.left_over[0].name, "tanh.1 of jit_g");
  EXPECT_EQ(join.left_over[1].category, "unknown instruction");
  EXPECT_EQ(join.left_over[1].name, "lost.7 of jit_f");
  disk.folder().write("g.hlo",
                      "HloModule jit_g\n\nENTRY main {\n  p = f32[8]{0} parameter(0)\n"
                      "  ROOT tanh.1 = f32[8]{0} tanh(p)\n}\n");
  EXPECT_EQ(join_modules(profile, {disk.at("g.hlo")}).modules.size(), 2);
  disk.folder().write("h.hlo",
                      "HloModule jit_h\n\nENTRY main {\n  ROOT p = f32[8]{0} parameter(0)\n}\n");
  EXPECT_THAT(support::error_of([&] {
                return join_modules(profile, {disk.at("g.hlo"), disk.at("h.hlo")});
              }),
              HasSubstr("the profile has no module jit_h; its modules: jit_f, jit_g"));
}

TEST(Xplane, AModuleThatCannotBeReadIsListedAndTheOthersStay) {
  ProfileOnDisk disk;
  Plane device = disk.core();
  device.op("tanh.1", 5, 0, 100);
  device.op("tanh.1", 6, 200, 70);
  Plane metadata = disk.plane("/host:metadata");
  metadata.module(5, "jit_f(5)", module_proto("jit_f"));
  metadata.module(6, "jit_g(6)", "no module");
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  const XplaneJoin join = join_modules(profile, {});
  EXPECT_EQ(join.modules.size(), 1);
  expect_ps(join.kernels, 100);
  ASSERT_EQ(join.left_over.size(), 1);
  EXPECT_EQ(join.left_over[0].category, "unknown module");
  EXPECT_THAT(join.notes, ElementsAre(HasSubstr("module jit_g of the profile")));
}

TEST(Xplane, BecomesAMeasurementSet) {
  ProfileOnDisk disk;
  const XplaneSource source{.profiles = {two_programs(disk)}};
  const ImportReport report =
      import_xplane(source, {.output = disk.at("set"), .device = "tpu_v5e"});
  EXPECT_EQ(report.rows, 3);
  EXPECT_THAT(report.notes, Contains(HasSubstr("not joined: unknown module: tanh.1 of jit_g")));
  Seconds all;
  for (const auto& [what, time] : report.coverage) all += time;
  expect_ps(all, 251000);
  const MeasurementSet set = read_measurement_set(disk.at("set"));
  ASSERT_EQ(set.rows.size() + set.faults.size(), 3);
  EXPECT_EQ(set.manifest.device, "tpu_v5e");
  EXPECT_EQ(set.manifest.source, "profile host.xplane.pb");
  EXPECT_THAT(set.manifest.description, HasSubstr("Profile of 1 x TPU v9"));
  std::map<std::string, std::string> rows;
  for (const CsvRow& row : set.table.rows) {
    rows[std::string(set.table.cell(row, "kernel"))] = set.table.cell(row, "runtime_ns");
  }
  EXPECT_THAT(rows, UnorderedElementsAre(Pair("", "400"), Pair("kernels/jit_f.5.hlo#tanh.1", "100"),
                                         Pair("kernels/jit_f.5.hlo#copy-start.2", "250")));
}

// Profiles written by JAX: nearly all device time is found in their modules.
TEST(XplaneRealProfiles, DeviceTimeIsJoined) {
  const auto folder = support::shared_dir() / "profiles";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is absent";
  const std::vector<std::pair<std::string, double>> least = {{"tpu_v6e_host_offload", 0.99},
                                                             {"mi300x_jax_gemm", 0.95},
                                                             {"mi300x_jax_attention", 0.95},
                                                             {"mi300x_jax_conv3d", 0.95}};
  for (const auto& [name, share] : least) {
    const XplaneProfile profile = read_xplane({(folder / (name + ".xplane.pb")).string()}, {});
    const XplaneJoin join = join_modules(profile, {});
    EXPECT_GE(join.kernels / profile.device_time, share) << name;
    double all = join.kernels.value + join.controls.value;
    for (const XplaneLeftOver& left : join.left_over) all += left.total.value;
    EXPECT_NEAR(all / profile.device_time.value, 1, 1e-9) << name;
    EXPECT_THAT(join.notes, ElementsAre()) << name;
  }
}

}  // namespace

// The two importers of one profile: as XPlane, and as the trace JSON that profilers export from it.
// Each instruction must have equal occurrences and times with both.

namespace {

constexpr double kPsPerUs = 1e6;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

// One plane in Chrome's trace format: the plane is a process, a line is a thread, stats are args.
class TraceWriter {
 public:
  TraceWriter(const xplane::XPlane& plane, int process) : process_(process) {
    for (const auto& entry : plane.event_metadata()) events_[entry.key()] = entry.value().name();
    for (const auto& entry : plane.stat_metadata()) stats_[entry.key()] = entry.value().name();
    add_name("process_name", 0, plane.name());
    for (int line = 0; line < plane.lines_size(); ++line) {
      add_name("thread_name", line, plane.lines(line).name());
      for (const xplane::Event& event : plane.lines(line).events()) add(event, line);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add_name(const char* what, int thread, const std::string& name) {
    text_ += fmt::format(
        "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}},\n",
        process_, thread, what, quoted(name));
  }
  [[nodiscard]] std::string value_of(const xplane::Stat& stat) const {
    if (stat.has_str_value()) return quoted(stat.str_value());
    if (stat.has_ref_value()) return quoted(stats_.at(static_cast<std::int64_t>(stat.ref_value())));
    return stat.has_int64_value() ? fmt::format("{}", stat.int64_value())
                                  : fmt::format("{}", stat.uint64_value());
  }
  void add(const xplane::Event& event, int thread) {
    const std::string& name = events_.at(event.metadata_id());
    std::string args;
    for (const xplane::Stat& stat : event.stats()) {
      const std::string& key = stats_.at(stat.metadata_id());
      if (key != "hlo_op" && key != "hlo_module" && key != "program_id" &&
          key != "device_duration_ps") {
        continue;
      }
      if (name.starts_with('%') && key == "hlo_op") continue;  // the end of a transfer
      args += fmt::format("{}{}:{}", args.empty() ? "" : ",", quoted(key), value_of(stat));
    }
    if (name.starts_with('%')) {
      args += fmt::format("{}\"long_name\":{}", args.empty() ? "" : ",", quoted(name));
    }
    text_ += fmt::format(
        "{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"args\":{{{}}}}},"
        "\n",
        process_, thread, static_cast<double>(event.offset_ps()) / kPsPerUs,
        static_cast<double>(event.duration_ps()) / kPsPerUs, quoted(name), args);
  }

  int process_;
  std::map<std::int64_t, std::string> events_, stats_;
  std::string text_;
};

std::string trace_of(const xplane::XSpace& space) {
  std::string text = "{\"traceEvents\": [\n";
  for (int i = 0; i < space.planes_size(); ++i) {
    if (space.planes(i).name().starts_with("/device:")) {
      text += TraceWriter(space.planes(i), i).text();
    }
  }
  return text + "{}]}";
}

struct Sum {
  double occurrences = 0;
  Seconds total;
};
using Sums = std::map<std::string, Sum>;  // by instruction

// Instructions of all modules with this name; of all modules if it is empty.
Sums sums_of(const XplaneProfile& profile, const std::string& name) {
  Sums sums;
  for (const XplaneModule& module : profile.modules) {
    if (!name.empty() && module.name != name) continue;
    for (const auto& [instruction, times] : module.instructions) {
      sums[instruction].occurrences += static_cast<double>(times.occurrences);
      sums[instruction].total += times.total;
    }
  }
  return sums;
}

void expect_same(const std::string& trace, const XplaneProfile& profile,
                 const std::string& module) {
  ImportReport report;
  const TraceSummary summary = read_traces({trace}, {.module = module}, report);
  const Sums sums = sums_of(profile, module);
  ASSERT_FALSE(sums.empty());
  for (const auto& [instruction, sum] : sums) {
    const auto found = summary.instructions.find(instruction);
    ASSERT_NE(found, summary.instructions.end()) << module << " " << instruction;
    EXPECT_EQ(found->second.occurrences, sum.occurrences) << module << " " << instruction;
    EXPECT_NEAR(found->second.total / sum.total, 1, 1e-6) << module << " " << instruction;
  }
}

class SameTimes : public testing::TestWithParam<const char*> {};

TEST_P(SameTimes, ByXplaneAndByTrace) {
  const std::filesystem::path file =
      support::shared_dir() / "profiles" / (std::string(GetParam()) + ".xplane.pb");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is absent";
  std::ifstream in(file, std::ios::binary);
  xplane::XSpace space;
  ASSERT_TRUE(space.ParseFromIstream(&in));
  SetOnDisk folder;
  folder.write("trace.json", trace_of(space));
  const std::string trace = folder.path() + "/trace.json";
  const XplaneProfile profile = read_xplane({file.string()}, {});
  if (!profile.device.type.empty()) return expect_same(trace, profile, "");  // without module names
  std::set<std::string> names;
  for (const XplaneModule& module : profile.modules) names.insert(module.name);
  for (const std::string& name : names) expect_same(trace, profile, name);
}

INSTANTIATE_TEST_SUITE_P(RealProfiles, SameTimes,
                         testing::Values("mi300x_jax_attention", "mi300x_jax_conv3d",
                                         "mi300x_jax_gemm", "tpu_v6e_host_offload"));

// The same instruction of two programs with one name is two kernels, not one with two launches.
TEST(Trace, AndXplaneTellProgramsOfOneNameApart) {
  ProfileOnDisk disk;
  Plane plane = disk.plane("/device:GPU:0");
  plane.line("Stream #16(Kernel)");
  plane.kernel("small.kd", "custom-call.1", 5, 0, 1'000'000);
  plane.kernel("large.kd", "custom-call.1", 6, 2'000'000, 5'000'000);
  xplane::XSpace space;
  ASSERT_TRUE(space.ParseFromString(disk.bytes()));
  disk.folder().write("trace.json", trace_of(space));
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  ASSERT_EQ(profile.modules.size(), 2U);
  expect_same(disk.at("trace.json"), profile, profile.modules[0].name);
}

TEST(Trace, AndXplaneAgreeOnKernelsOfOneInstructionOnTwoDevices) {
  ProfileOnDisk disk;
  for (int device = 0; device < 2; ++device) {
    Plane plane = disk.plane("/device:GPU:" + std::to_string(device));
    plane.fact("core_count", std::uint64_t{304});
    plane.line("Stream #16(Kernel)");
    plane.kernel("memset.kd", "custom-call.1", 5, 0, 1'000'000);
    plane.kernel("gemm.kd", "custom-call.1", 5, 2'000'000, 5'000'000);
    plane.kernel("loop_add.kd", "add.2", 5, 8'000'000, 3'000'000);
    plane.kernel("memset.kd", "custom-call.1", 5, 20'000'000, 1'000'000);
    plane.kernel("gemm.kd", "custom-call.1", 5, 22'000'000, 7'000'000);
  }
  xplane::XSpace space;
  ASSERT_TRUE(space.ParseFromString(disk.bytes()));
  disk.folder().write("trace.json", trace_of(space));
  const XplaneProfile profile = read_xplane({disk.write()}, {});
  expect_same(disk.at("trace.json"), profile, profile.modules.at(0).name);
  const Sums sums = sums_of(profile, "");
  EXPECT_EQ(sums.at("custom-call.1").occurrences, 4);
  EXPECT_NEAR(sums.at("custom-call.1").total.value, 28e-6, 1e-12);
}

}  // namespace
}  // namespace tilecast::measured
