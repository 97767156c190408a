#include "sim/simulator.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "ir/text/hlo_parser.h"
#include "tests/support/errors.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

// Every kernel takes a microsecond, except those with unknown opcodes.
class UnitModel final : public analytical::CostModel {
 public:
  explicit UnitModel(ir::Opcode unknown = ir::Opcode::kFusion) : unknown_(unknown) {}
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers;
    for (const analytical::KernelQuery& query : queries) {
      answers.emplace_back();
      if (query.kernel.opcode() == unknown_) continue;
      answers.back().emplace().time = Seconds{1e-6};
    }
    return answers;
  }

 private:
  ir::Opcode unknown_;
};

ir::Program program(const std::string& text) {
  return ir::make_program(ir::parse_hlo(base::SourceText("t.hlo", text)));
}

hwdesc::Device toy() {
  hwdesc::Device device;
  device.name = "toy";
  device.dispatch.host = Seconds{7e-6};
  return device;
}

constexpr const char* kLoop = R"(HloModule loop, is_scheduled=true

body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[8] multiply(x, x)
  ROOT out = (s32[], f32[8]) tuple(next, y)
}

condition {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(i, limit), direction=LT
}

ENTRY main {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[8]) tuple(zero, x)
  loop = (s32[], f32[8]) while(start), condition=condition, body=body
  ROOT y = f32[8] get-tuple-element(loop), index=1
}
)";

constexpr const char* kCopies = R"(HloModule copies, is_scheduled=true

ENTRY main {
  x = f32[128] parameter(0)
  w = f32[128] parameter(1)
  start = (f32[128], f32[128], u32[]) copy-start(w)
  a = f32[128] add(x, x)
  b = f32[128] multiply(a, a)
  done = f32[128] copy-done(start)
  ROOT c = f32[128] add(b, done)
}
)";

TEST(Simulator, AddsKernelsTimesTheirLaunches) {
  const ir::Program loop = program(kLoop);
  const Simulation run = simulate(loop, toy(), UnitModel());
  double launches = 0;
  for (const ir::ScheduledKernel& kernel : loop.kernels()) launches += kernel.multiplicity;
  EXPECT_GE(launches, 10);
  EXPECT_NEAR(run.time.value, 1e-6 * launches, 1e-15);
  EXPECT_LE(run.timeline.value, run.time.value * (1 + 1e-12));
}

TEST(Simulator, OverlapsAnAsynchronousCopyInTheTimelineButNotInTheSum) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_NEAR(run.time.value, 4e-6, 1e-15);
  EXPECT_NEAR(run.timeline.value, 3e-6, 1e-15);
  const auto copy = std::find_if(run.kernels.begin(), run.kernels.end(),
                                 [](const auto& k) { return k.lane == Lane::kDma; });
  ASSERT_NE(copy, run.kernels.end());
  EXPECT_EQ(copy->opcode, ir::Opcode::kCopyStart);
}

TEST(Simulator, ReportsTheHostsDispatchApart) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_EQ(run.host_dispatch, Seconds{7e-6});
}

TEST(Simulator, NamesTheKernelWithoutAModelAndTheWayOut) {
  const std::string error = support::error_of(
      [&] { return simulate(program(kCopies), toy(), UnitModel(ir::Opcode::kMultiply)); });
  EXPECT_THAT(error, HasSubstr("kernel b (multiply): no model for it on device toy"));
  EXPECT_THAT(error, HasSubstr("--unknown-op=skip"));
}

TEST(Simulator, CountsSkippedKernelsInANote) {
  const Simulation run =
      simulate(program(kCopies), toy(), UnitModel(ir::Opcode::kMultiply), {.skip_unknown = true});
  EXPECT_NEAR(run.time.value, 3e-6, 1e-15);
  ASSERT_FALSE(run.notes.empty());
  EXPECT_THAT(run.notes.back().what, HasSubstr("skipped"));
}

// Corrects every time by 20 %, with a different weight for every kernel.
class CorrectedUnitModel final : public analytical::CostModel {
 public:
  explicit CorrectedUnitModel(std::map<std::string, double> weights)
      : weights_(std::move(weights)) {}
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const double weight = weights_.at(queries[i].kernel.name());
      const double factor = weight > 0 ? 1.2 : 1.0;
      answers[i].emplace().time = Seconds{factor * 1e-6};
      answers[i]->correction = {.analytical = Seconds{1e-6},
                                .factor = factor,
                                .weight = weight,
                                .verdict = analytical::Verdict::kIn,
                                .low = Seconds{factor * 1e-6 / 2},
                                .high = Seconds{factor * 1e-6 * 2},
                                .correlation = 1};
    }
    return answers;
  }

 private:
  std::map<std::string, double> weights_;
};

TEST(Simulator, AddsUpIntervalsAndSaysHowMuchIsBelieved) {
  const Simulation run =
      simulate(program(kCopies), toy(),
               CorrectedUnitModel({{"start", 0}, {"a", 1}, {"b", 0.5}, {"c", 0.51}}));
  ASSERT_TRUE(run.interval.has_value());
  // Equal errors also double and halve the total.
  EXPECT_NEAR(run.interval->low, run.time.value / 2, 1e-12);
  EXPECT_NEAR(run.interval->high, run.time.value * 2, 1e-12);
  const auto shares = belief_shares(run);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(shares->most.kernels, 2U);
  EXPECT_NEAR(shares->most.time.value, 2 * 1.2e-6, 1e-15);
  EXPECT_EQ(shares->some.kernels, 1U);
  EXPECT_NEAR(shares->some.time.value, 1.2e-6, 1e-15);
  EXPECT_EQ(shares->none.kernels, 1U);
  EXPECT_NEAR(shares->none.time.value, 1e-6, 1e-15);
}

TEST(Simulator, AModelWithoutCorrectionsHasNoIntervalAndNoShares) {
  const Simulation run = simulate(program(kCopies), toy(), UnitModel());
  EXPECT_FALSE(run.interval.has_value());
  EXPECT_FALSE(belief_shares(run).has_value());
}

}  // namespace
}  // namespace tilecast::sim
