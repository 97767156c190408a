#include "host/run_kernels.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "host/compiled_library.h"
#include "host/timing_arrays.h"
#include "tests/support/errors.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr const char* kHead =
    "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
    "#include <sys/mman.h>\n#include <unistd.h>\n"
    "#define KERNEL(name) void name(const void* const* in, void* const* out, void* scratch)\n";

// out[0][i] = 2 * in[0][i] over 100 floats; and functions that misbehave.
constexpr const char* kBodies = R"(
KERNEL(twice) {
  const float* x = in[0];
  float* y = out[0];
  for (int i = 0; i < 100; ++i) y[i] = 2 * x[i];
}
KERNEL(through_scratch) {
  float* held = scratch;
  for (int i = 0; i < 100; ++i) held[i] = ((const float*)in[0])[i];
  for (int i = 0; i < 100; ++i) ((float*)out[0])[i] = 3 * held[i];
}
KERNEL(nothing) {}
KERNEL(null_write) { *(volatile int*)8 = 1; }
KERNEL(aborts) { abort(); }
KERNEL(leaves) { exit(0); }
KERNEL(endless) { for (volatile int i = 1; i;) {} }
KERNEL(overruns) { ((float*)out[0])[100] = 1; }
KERNEL(overruns_far) { ((volatile float*)out[0])[100000] = 1; }
KERNEL(writes_input) { ((volatile float*)in[0])[0] = 1; }
KERNEL(scratch_overrun) { ((char*)scratch)[400] = 1; }
KERNEL(writes_a_file) {
  char name[] = "/tmp/tilecast_run_XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  if (fd >= 0 && write(fd, name, sizeof name) > 0) ((float*)out[0])[0] = 1;
}
KERNEL(opens_many_files) {
  float opened = 0;
  while (opened < 1000 && open("/dev/null", 0) >= 0) ++opened;
  ((float*)out[0])[0] = opened;
}
KERNEL(takes_all_memory) {
  const size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  void* got = mmap(NULL, 2 * all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ((float*)out[0])[0] = got == MAP_FAILED ? -1 : 1;
}
)";

ir::Shape f32(std::int64_t elements) {
  return ir::Shape::array(ir::DType::kF32, {elements});
}

RunJob job(const std::string& function) {
  return {.function = function, .inputs = {f32(100)}, .outputs = {f32(100)}, .scratch_bytes = 400};
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> ramp() {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<float>(i));
  return values;
}

// Short groups: these tests check that functions run, not their times.
TimingOptions hasty(CacheState state) {
  return {.state = state, .groups = 3, .group = Seconds{20e-6}, .timeout = Seconds{20}};
}

class RunKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string source = std::string(kHead) + kBodies;
    auto made = Compiler().compile(std::span(&source, 1), 1);
    ASSERT_TRUE(made.front().library) << made.front().error;
    library_ = new CompiledLibrary(std::move(*made.front().library));
  }
  static void TearDownTestSuite() {
    delete library_;
    library_ = nullptr;
  }
  // The outcome of each job.
  static std::vector<RunOutcome> run(const std::vector<RunJob>& jobs,
                                     const TimingOptions& options) {
    std::vector<RunOutcome> outcomes;
    run_kernels(library_->path(), jobs, options, [&](std::size_t i, const RunOutcome& outcome) {
      EXPECT_EQ(i, outcomes.size()) << "jobs are reported in order";
      outcomes.push_back(outcome);
      return true;
    });
    return outcomes;
  }
  static std::vector<float> once(const std::string& function) {
    const std::vector<std::vector<std::byte>> inputs{bytes_of(ramp())};
    return floats_of(run_once(library_->path(), job(function), inputs).front());
  }
  static std::string error_of(const std::string& function) {
    return support::error_of([&] { once(function); });
  }
  static bool was_timed(const RunOutcome& outcome) {
    return outcome.status == RunStatus::kTimed || outcome.status == RunStatus::kUnstable;
  }

  static CompiledLibrary* library_;
};

CompiledLibrary* RunKernels::library_ = nullptr;

TEST_F(RunKernels, OneCallGivesTheOutputOfTheInput) {
  std::vector<float> expected;
  for (const float x : ramp()) expected.push_back(2 * x);
  EXPECT_EQ(once("twice"), expected);
}

TEST_F(RunKernels, OneCallHasItsScratch) {
  std::vector<float> expected;
  for (const float x : ramp()) expected.push_back(3 * x);
  EXPECT_EQ(once("through_scratch"), expected);
}

TEST_F(RunKernels, WhatAFunctionDoesNotWriteIsNotANumber) {
  for (const float y : once("nothing")) EXPECT_TRUE(y != y);
}

TEST_F(RunKernels, OneCallThatMisbehavesIsAnErrorThatSaysHow) {
  EXPECT_THAT(error_of("null_write"), HasSubstr("null_write: killed by SIGSEGV"));
  EXPECT_THAT(error_of("aborts"), HasSubstr("killed by SIGABRT"));
  EXPECT_THAT(error_of("overruns"), HasSubstr("writes beyond its output 0"));
  EXPECT_THAT(error_of("overruns_far"), HasSubstr("killed by SIGSEGV"));
  EXPECT_THAT(error_of("writes_input"), HasSubstr("killed by SIGSEGV"));
  EXPECT_THAT(error_of("scratch_overrun"), HasSubstr("writes beyond its scratch"));
  EXPECT_THAT(error_of("no_such_function"), HasSubstr("no_such_function"));
}

TEST_F(RunKernels, OneCallGetsNoFileNoThousandDescriptorsAndNoMoreMemoryThanThereIs) {
  EXPECT_THAT(error_of("writes_a_file"), HasSubstr("writes_a_file: killed by SIGXFSZ"));
  EXPECT_LT(once("opens_many_files").front(), 64);
  EXPECT_EQ(once("takes_all_memory").front(), -1);
}

TEST_F(RunKernels, OneCallThatDoesNotEndIsStopped) {
  const std::vector<std::vector<std::byte>> inputs{bytes_of(ramp())};
  EXPECT_THROW((void)run_once(library_->path(), job("endless"), inputs, Seconds{0.2}), Error);
}

TEST_F(RunKernels, TimesAreOrderedAndCounted) {
  for (const CacheState state : {CacheState::kCold, CacheState::kWarm}) {
    const auto outcomes = run({job("twice"), job("through_scratch")}, hasty(state));
    ASSERT_EQ(outcomes.size(), 2u);
    for (const RunOutcome& outcome : outcomes) {
      EXPECT_TRUE(was_timed(outcome)) << outcome.message;
      EXPECT_GT(outcome.timing.minimum.value, 0);
      EXPECT_LE(outcome.timing.minimum, outcome.timing.median);
      EXPECT_GE(outcome.timing.calls, 3);
      EXPECT_GT(outcome.timing.reference.value, 0);
      EXPECT_GE(outcome.timing.drift, 0);
    }
  }
}

TEST_F(RunKernels, ACrashEndsOnlyItsOwnFunction) {
  const auto outcomes = run({job("twice"), job("null_write"), job("twice"), job("aborts"),
                             job("leaves"), job("no_such_function"), job("twice")},
                            hasty(CacheState::kWarm));
  ASSERT_EQ(outcomes.size(), 7u);
  for (const std::size_t i : {0, 2, 6}) EXPECT_TRUE(was_timed(outcomes[i])) << i;
  for (const std::size_t i : {1, 3, 4, 5}) {
    EXPECT_EQ(outcomes[i].status, RunStatus::kCrashed) << i;
  }
  EXPECT_EQ(outcomes[1].message, "killed by SIGSEGV");
  EXPECT_EQ(outcomes[3].message, "killed by SIGABRT");
  EXPECT_EQ(outcomes[4].message, "ended the process");
  EXPECT_THAT(outcomes[5].message, HasSubstr("no function 'no_such_function'"));
}

TEST_F(RunKernels, ManyJobsAreToldInTheirOrderWhateverCrashesAmongThem) {
  std::vector<RunJob> jobs(70, job("twice"));
  const std::set<std::size_t> bad{0, 31, 32, 33, 69};
  for (const std::size_t i : bad) jobs[i] = job("aborts");
  const auto outcomes = run(jobs, hasty(CacheState::kWarm));
  ASSERT_EQ(outcomes.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(outcomes[i].status == RunStatus::kCrashed, bad.contains(i)) << i;
    EXPECT_EQ(was_timed(outcomes[i]), !bad.contains(i)) << i;
  }
}

TEST_F(RunKernels, AJobMayNameALibraryOfItsOwn) {
  const std::string source = std::string(kHead) + "KERNEL(elsewhere) {}\n";
  const auto other = Compiler().compile(std::span(&source, 1), 1);
  RunJob there = job("elsewhere");
  there.library = other.at(0).library->path();
  const auto outcomes = run({job("elsewhere"), there, job("twice")}, hasty(CacheState::kWarm));
  EXPECT_THAT(outcomes.at(0).message, HasSubstr("no function 'elsewhere'"));
  EXPECT_TRUE(was_timed(outcomes.at(1)));
  EXPECT_TRUE(was_timed(outcomes.at(2)));
}

TEST_F(RunKernels, ArraysThatDoNotFitIntoMemoryAreRefusedBeforeTheyAreFilled) {
  RunJob huge = job("twice");
  huge.inputs = {f32(std::int64_t{1} << 44)};
  const auto outcomes = run({huge, job("twice")}, hasty(CacheState::kCold));
  EXPECT_EQ(outcomes.at(0).status, RunStatus::kCrashed);
  EXPECT_THAT(outcomes.at(0).message, HasSubstr("of memory"));
  EXPECT_TRUE(was_timed(outcomes.at(1)));
}

TEST_F(RunKernels, AMissingLibraryIsNamed) {
  std::string message;
  const RunJob twice = job("twice");
  run_kernels("no_such_library.so", std::span(&twice, 1), hasty(CacheState::kWarm),
              [&](std::size_t, const RunOutcome& outcome) {
                message = outcome.message;
                return true;
              });
  EXPECT_THAT(message, HasSubstr("no_such_library.so"));
}

TEST_F(RunKernels, AFunctionThatWritesToItsInputIsStopped) {
  const auto outcomes = run({job("writes_input"), job("twice")}, hasty(CacheState::kCold));
  EXPECT_EQ(outcomes.at(0).message, "killed by SIGSEGV");
  EXPECT_TRUE(was_timed(outcomes.at(1)));
}

TEST_F(RunKernels, AFunctionThatDoesNotEndIsStoppedAndTheNextOneRuns) {
  TimingOptions options = hasty(CacheState::kWarm);
  options.timeout = Seconds{2};
  const auto outcomes = run({job("endless"), job("twice")}, options);
  EXPECT_EQ(outcomes.at(0).status, RunStatus::kTimedOut);
  EXPECT_THAT(outcomes.at(0).message, HasSubstr("longer than 2 s"));
  EXPECT_TRUE(was_timed(outcomes.at(1)));
}

TEST_F(RunKernels, StopsWhenTheReceiverSaysSo) {
  const std::vector<RunJob> jobs(5, job("twice"));
  std::size_t reported = 0;
  run_kernels(library_->path(), jobs, hasty(CacheState::kWarm),
              [&](std::size_t, const RunOutcome&) { return ++reported < 2; });
  EXPECT_EQ(reported, 2u);
}

TEST_F(RunKernels, AnExceptionOfTheReceiverPassesAndLeavesNoChild) {
  const std::vector<RunJob> jobs(5, job("twice"));
  EXPECT_THROW(run_kernels(library_->path(), jobs, hasty(CacheState::kWarm),
                           [](std::size_t, const RunOutcome&) -> bool { throw Error("full"); }),
               Error);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RunKernels, LeavesNoProcessAndNoOpenFile) {
  const auto open_files = [] {
    const fs::directory_iterator entries("/proc/self/fd");
    return std::distance(fs::begin(entries), fs::end(entries));
  };
  const auto before = open_files();
  run({job("twice"), job("null_write"), job("twice")}, hasty(CacheState::kWarm));
  once("twice");
  EXPECT_EQ(error_of("aborts"), "aborts: killed by SIGABRT");
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "every child was waited for";
}

TEST_F(RunKernels, RefusesACoreItMayNotUse) {
  TimingOptions options = hasty(CacheState::kWarm);
  options.core = 100000;
  EXPECT_THAT(support::error_of([&] { run({job("twice")}, options); }), HasSubstr("got 100000"));
}

// The input and output addresses of the calls of a timed function, in order: the function records
// its pointers and is timed in a child. The records are in memory shared by parent and child, since
// a child may not write files.
using Place = std::pair<const void*, const void*>;
std::vector<Place> places(CacheState state) {
  constexpr std::size_t kMost = 1 << 16;
  const std::size_t bytes = (1 + 2 * kMost) * sizeof(void*);
  void* const shared =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {};
  const std::string source = std::string(kHead) + "#include <stdint.h>\nKERNEL(where) {\n" +
                             "  volatile uintptr_t* notes = (volatile uintptr_t*)" +
                             std::to_string(reinterpret_cast<std::uintptr_t>(shared)) +
                             "u;\n  uintptr_t n = notes[0];\n  if (n >= " + std::to_string(kMost) +
                             ") return;\n  notes[1 + 2 * n] = (uintptr_t)in[0];\n"
                             "  notes[2 + 2 * n] = (uintptr_t)out[0];\n  notes[0] = n + 1;\n}\n";
  const auto made = Compiler().compile(std::span(&source, 1), 1);
  const RunJob where{.function = "where", .inputs = {f32(1 << 20)}, .outputs = {f32(1 << 20)}};
  run_kernels(made.at(0).library->path(), std::span(&where, 1), hasty(state),
              [](std::size_t, const RunOutcome& outcome) {
                EXPECT_GE(outcome.timing.calls, 3);
                return true;
              });
  const auto* const notes = static_cast<const void* const*>(shared);
  const auto count = reinterpret_cast<std::uintptr_t>(notes[0]);
  std::vector<Place> found;
  for (std::size_t i = 0; i < count; ++i) found.emplace_back(notes[1 + 2 * i], notes[2 + 2 * i]);
  ::munmap(shared, bytes);
  return found;
}

TEST(RunKernelsPlaces, ColdCallsMeetOtherArraysUntilTheCacheIsPassedOver) {
  const auto found = places(CacheState::kCold);
  ASSERT_THAT(found.size(), Gt(3u));
  // 4 MiB of input and 4 MiB of output, so at least 64 MiB / 8 MiB calls until an address repeats.
  const std::size_t apart = std::min<std::size_t>(found.size(), 64 / 8);
  for (std::size_t i = 0; i + 1 < apart; ++i) {
    for (std::size_t k = i + 1; k < apart; ++k) {
      EXPECT_NE(found[i].first, found[k].first);
      EXPECT_NE(found[i].second, found[k].second);
    }
  }
}

TEST(RunKernelsPlaces, WarmCallsMeetTheSameArrays) {
  const auto found = places(CacheState::kWarm);
  ASSERT_THAT(found.size(), Gt(3u));
  for (const auto& place : found) EXPECT_EQ(place, found.front());
}

template <class T>
std::vector<T> drawn(ir::DType dtype) {
  const auto bytes = valid_elements(dtype, 1000, /*seed=*/1);
  std::vector<T> values(1000);
  EXPECT_EQ(bytes.size(), values.size() * sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

float half(std::uint16_t bits) {  // of a normal, positive f16
  return std::ldexp(1 + static_cast<float>(bits & 0x3FF) / 1024, (bits >> 10) - 15);
}

TEST(ValidElements, FloatsLieBetweenAQuarterAndFiveQuartersInTheirOwnEncoding) {
  std::vector<double> all;
  for (const double x : drawn<double>(ir::DType::kF64)) all.push_back(x);
  for (const float x : drawn<float>(ir::DType::kF32)) all.push_back(x);
  for (const std::uint16_t x : drawn<std::uint16_t>(ir::DType::kF16)) all.push_back(half(x));
  for (const std::uint16_t x : drawn<std::uint16_t>(ir::DType::kBF16)) {
    all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16));
  }
  EXPECT_THAT(all, Each(AllOf(Ge(0.25), Le(1.25))));
  EXPECT_GT(std::set<double>(all.begin(), all.end()).size(), all.size() / 4) << "they differ";
}

TEST(ValidElements, IntegersAreSmallIndicesAndPredIsZeroOrOne) {
  EXPECT_THAT(drawn<std::int32_t>(ir::DType::kS32), Each(AllOf(Ge(0), Le(7))));
  EXPECT_THAT(drawn<std::uint64_t>(ir::DType::kU64), Each(Le(7u)));
  EXPECT_THAT(drawn<std::int8_t>(ir::DType::kS8), Each(AllOf(Ge(0), Le(7))));
  EXPECT_THAT(drawn<std::uint8_t>(ir::DType::kPred), Each(Le(1)));
}

}  // namespace
}  // namespace tilecast::host
