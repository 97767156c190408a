// Profiles to measurement sets: device time, averaging of occurrences, and notes about unmatched
// time. Times are computed by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "measured/importers/importer.h"
#include "measured/importers/trace_events.h"
#include "measured/measurement_set.h"
#include "tests/measured/set_on_disk.h"
#include "tests/support/errors.h"

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

}  // namespace
}  // namespace tilecast::measured
