#include "ir/counts/trip_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "ir/text/hlo_parser.h"
#include "tests/support/folders.h"

namespace tilecast::ir {
namespace {

// A loop over (counter, limit, payload).
struct Loop {
  std::string init = "0", limit = "10", step = "3";
  std::string update = "add(i, step)";
  std::string compare = "compare(i, n), direction=LT";
  std::string passed_limit = "n";
  std::string config;
};

std::string text_of(const Loop& loop) {
  return "HloModule m\n"
         "body {\n  s = (s32[], s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] get-tuple-element(s), index=1\n"
         "  x = f32[8] get-tuple-element(s), index=2\n  step = s32[] constant(" +
         loop.step + ")\n  j = s32[] " + loop.update + "\n  n2 = s32[] add(n, step)\n" +
         "  ROOT r = (s32[], s32[], f32[8]) tuple(j, " + loop.passed_limit + ", x)\n}\n" +
         "cond {\n  s = (s32[], s32[], f32[8]) parameter(0)\n"
         "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] get-tuple-element(s), index=1\n"
         "  k = s32[] constant(" +
         loop.limit + ")\n  ROOT c = pred[] " + loop.compare + "\n}\n" +
         "ENTRY e {\n  x = f32[8] parameter(0)\n  i0 = s32[] constant(" + loop.init +
         ")\n  n0 = s32[] constant(" + loop.limit +
         ")\n  t = (s32[], s32[], f32[8]) tuple(i0, n0, x)\n"
         "  ROOT w = (s32[], s32[], f32[8]) while(t), condition=cond, body=body" +
         loop.config + "\n}\n";
}

std::optional<std::int64_t> count(const Loop& loop) {
  const Module module = parse_hlo(base::SourceText("loop.hlo", text_of(loop)));
  const Computation& caller = module.entry_computation();
  return trip_count(module, caller, caller.root_instruction());
}

// Runs the loop and counts its iterations.
std::int64_t run(std::int64_t init, std::int64_t limit, std::int64_t step,
                 bool (*keep_going)(std::int64_t, std::int64_t)) {
  std::int64_t n = 0;
  for (std::int64_t i = init; keep_going(i, limit); i += step) ++n;
  return n;
}

Loop numbers(std::int64_t init, std::int64_t limit, std::int64_t step, const std::string& dir) {
  Loop loop;
  loop.init = std::to_string(init);
  loop.limit = std::to_string(limit);
  loop.step = std::to_string(step);
  loop.compare = "compare(i, n), direction=" + dir;
  return loop;
}

TEST(TripCount, OfACountedLoopIsHowOftenItRuns) {
  for (std::int64_t init : {-4, 0, 7, 10, 12}) {
    for (std::int64_t step : {1, 2, 5}) {
      EXPECT_EQ(count(numbers(init, 10, step, "LT")),
                run(init, 10, step, [](auto a, auto b) { return a < b; }));
      EXPECT_EQ(count(numbers(init, 10, step, "LE")),
                run(init, 10, step, [](auto a, auto b) { return a <= b; }));
      EXPECT_EQ(count(numbers(init, -6, -step, "GT")),
                run(init, -6, -step, [](auto a, auto b) { return a > b; }));
      EXPECT_EQ(count(numbers(init, -6, -step, "GE")),
                run(init, -6, -step, [](auto a, auto b) { return a >= b; }));
    }
  }
  EXPECT_EQ(count(numbers(1, 13, 4, "NE")), 3);
  EXPECT_EQ(count(numbers(1, 1, 4, "NE")), 0);
}

TEST(TripCount, OfALoopThatDoesNotEndIsUnknown) {
  EXPECT_EQ(count(numbers(0, 10, -1, "LT")), std::nullopt);
  EXPECT_EQ(count(numbers(0, 10, 0, "LT")), std::nullopt);
  EXPECT_EQ(count(numbers(0, 10, 3, "NE")), std::nullopt);
}

TEST(TripCount, OfAnyScalarCodeIsWhatItsStepsGive) {
  Loop loop;
  loop.init = "1";
  loop.limit = "100";
  for (const auto& [update, counted] :
       std::vector<std::pair<std::string, std::int64_t (*)(std::int64_t)>>{
           {"add(i, i)", [](std::int64_t i) { return 2 * i; }},
           {"multiply(i, step)", [](std::int64_t i) { return 3 * i; }},
           {"shift-left(i, step)", [](std::int64_t i) { return i << 3; }}}) {
    loop.update = update;
    std::int64_t steps = 0;
    for (std::int64_t i = 1; i < 100; i = counted(i)) ++steps;
    EXPECT_EQ(count(loop), steps) << update;
  }
  // Division by the step, then a limit that moves towards the counter.
  loop.init = "1000";
  loop.limit = "0";
  loop.compare = "compare(i, n), direction=GT";
  loop.update = "divide(i, step)";
  EXPECT_EQ(count(loop), 7);  // 1000 333 111 37 12 4 1
  loop = numbers(0, 1000, -3, "LT");
  loop.update = "subtract(i, step)";
  loop.passed_limit = "n2";
  EXPECT_EQ(count(loop), (1000 + 5) / 6);
}

TEST(TripCount, IsNeverThatOfACounterThatWraps) {
  EXPECT_EQ(count(numbers(0, 2147483647, 1, "LE")), std::nullopt);
  EXPECT_EQ(count(numbers(2147483600, -2147483600, 1, "NE")), 96);  // overflows s32
  EXPECT_EQ(count(numbers(0, 2147483647, 2, "LT")), std::nullopt);  // 2^31 - 2, then negative
  EXPECT_EQ(count(numbers(0, 2147483646, 2, "LT")), 2147483646 / 2);
}

TEST(TripCount, OfAConditionThatIsKnownInPartIsUnknown) {
  Loop loop = numbers(0, 10, 1, "LT");
  loop.compare = "and(b, e)\n";
  const std::string text = text_of(loop);
  const auto with = [&](const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find("  ROOT c"), 0,
                    "  b = pred[] compare(i, n), direction=LT\n  e = pred[] " + other + "\n");
    const Module module = parse_hlo(base::SourceText("loop.hlo", changed));
    return trip_count(module, module.entry_computation(),
                      module.entry_computation().root_instruction());
  };
  EXPECT_EQ(with("constant(true)"), 10);
  EXPECT_EQ(with("constant(false)"), 0);
  EXPECT_EQ(with("custom-call(), custom_call_target=\"goes_on\""), std::nullopt);
}

// A chain of operands of maximum length needs no deeper recursion than a short one.
TEST(TripCount, OfCodeThatIsTooLongIsUnknown) {
  const auto with_chain = [](int length) {
    std::string chain = "j0 = s32[] add(i, step)\n";
    for (int k = 0; k < length; ++k) {
      chain += "  j" + std::to_string(k + 1) + " = s32[] maximum(j" + std::to_string(k) + ", i)\n";
    }
    std::string text = text_of({});
    text.replace(text.find("j = s32[] add(i, step)"), 22,
                 chain + "  j = s32[] copy(j" + std::to_string(length) + ")");
    const Module module = parse_hlo(base::SourceText("loop.hlo", text));
    return trip_count(module, module.entry_computation(),
                      module.entry_computation().root_instruction());
  };
  EXPECT_EQ(with_chain(100), 4);
  EXPECT_EQ(with_chain(100'000), std::nullopt);
}

TEST(TripCount, AcceptsTheOperandsInEitherOrder) {
  Loop loop;
  loop.compare = "compare(k, i), direction=GT";
  loop.update = "add(step, i)";
  EXPECT_EQ(count(loop), 4);
  loop.update = "subtract(i, step)";
  loop.step = "-5";
  EXPECT_EQ(count(loop), 2);
}

TEST(TripCount, NeedsALimitThatDoesNotChange) {
  Loop loop;
  loop.passed_limit = "n2";
  EXPECT_EQ(count(loop), std::nullopt);
}

TEST(TripCount, BelievesTheCompilerFirst) {
  Loop loop;
  loop.config =
      ", backend_config={\"known_trip_count\":{\"n\":\"8\"},\"known_init_step\":{\"init\":\"0\"}}";
  EXPECT_EQ(count(loop), 8);
  loop.config = ", backend_config=\"{\\\"known_trip_count\\\":{\\\"n\\\":\\\"17\\\"}}\"";
  EXPECT_EQ(count(loop), 17);
  loop.config = ", backend_config={\"other\":{\"n\":\"8\"}}";
  EXPECT_EQ(count(loop), 4);
}

TEST(TripCount, OfEveryLoopOfThePublishedDumpsIsKnown) {
  const std::filesystem::path root = support::shared_dir();
  const auto folder = root / "hlo" / "public";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int loops = 0;
  std::string unknown;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("xlaunit_")) continue;  // some are deliberately unknown
    const Module module = read_hlo_file(file.path().string());
    for (const Computation& computation : module.computations) {
      for (const Instruction& op : computation.instructions) {
        if (op.opcode != Opcode::kWhile) continue;
        ++loops;
        if (!trip_count(module, computation, op)) unknown += name + ": " + op.name + "\n";
      }
    }
  }
  EXPECT_GT(loops, 0);
  EXPECT_EQ(unknown, "");
  RecordProperty("loops", loops);
}

}  // namespace
}  // namespace tilecast::ir
