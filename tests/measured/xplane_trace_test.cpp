// The two importers of one profile: as XPlane, and as the trace JSON that profilers export from it.
// Each instruction must have equal occurrences and times with both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "measured/importers/trace_events.h"
#include "measured/importers/xplane.h"
#include "tests/measured/xplane_profile.h"
#include "tests/support/folders.h"

namespace tilecast::measured {
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
