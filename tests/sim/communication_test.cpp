// Communication in simulate(): its time, the part hidden by compute kernels, and the effect of the
// placement of groups on a slice.
#include <gmock/gmock.h>

#include <random>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "hwdesc/device_yaml.h"
#include "ir/text/hlo_parser.h"
#include "sim/run_parts.h"
#include "sim/simulator.h"
#include "sim/views/simulation.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

// Collectives take 5 us, all other kernels 2 us.
class TwoTimes final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers;
    for (const analytical::KernelQuery& query : queries) {
      const bool crosses = ir::op_class(query.kernel.opcode()) == ir::OpClass::kCollective;
      answers.emplace_back().emplace().time = Seconds{crosses ? 5e-6 : 2e-6};
    }
    return answers;
  }
};

ir::Program spmd(const std::string& entry) {
  return ir::make_program(ir::parse_hlo(base::SourceText(
      "t.hlo",
      "HloModule m, num_partitions=4, is_scheduled=true\n"
      "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
      "ENTRY main { x = f32[512] parameter(0)\n" +
          entry + " }\n")));
}

constexpr const char* kGroups =
    "channel_id=1, replica_groups={{0,1,2,3}}, "
    "use_global_device_ids=true, to_apply=add";

TEST(CommunicationTime, IsHiddenWhereComputeRunsBetweenStartAndDone) {
  const Simulation run =
      simulate(spmd(std::string(" start = f32[512] all-reduce-start(x), ") + kGroups +
                    "\n y = f32[512] multiply(x, x)\n done = f32[512] all-reduce-done(start)\n"
                    " ROOT z = f32[512] add(y, done)"),
               {.name = "toy"}, TwoTimes());
  ASSERT_TRUE(run.communication);
  EXPECT_NEAR(run.communication->time.value, 5e-6, 1e-15);
  EXPECT_NEAR(run.communication->hidden.value, 2e-6, 1e-15);  // by the multiply
  EXPECT_NEAR(run.timeline.value, 5e-6 + 2e-6, 1e-15);
  EXPECT_THAT(views::table(run), HasSubstr("5.000 us communication, of which 2.000 us hidden"));
}

TEST(CommunicationTime, IsAllExposedWhereItsResultIsUsedAtOnce) {
  const Simulation run = simulate(spmd(std::string(" sum = f32[512] all-reduce(x), ") + kGroups +
                                       "\n ROOT z = f32[512] add(sum, sum)"),
                                  {.name = "toy"}, TwoTimes());
  EXPECT_NEAR(run.communication->time.value, 5e-6, 1e-15);
  EXPECT_EQ(run.communication->hidden, Seconds{0});
}

TEST(CommunicationTime, IsNoneInAProgramOfOneDevice) {
  EXPECT_FALSE(
      simulate(spmd(" ROOT z = f32[512] add(x, x)"), {.name = "toy"}, TwoTimes()).communication);
}

// For random programs: hidden <= communication, hidden <= compute, and the exposed part is at most
// the timeline's time without compute.
TEST(CommunicationProperty, HiddenAndExposedFitTheTimeline) {
  std::mt19937 random(41);
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    std::string last = "x", sum = "x";
    for (int i = 0; i < 12; ++i) {
      const std::string name = "v" + std::to_string(i);
      if (random() % 3 == 0) {
        text += " " + name + " = f32[512] all-reduce(" + last + "), " + kGroups + "\n";
        sum = name;
      } else {
        const std::string& other = random() % 3 == 0 ? sum : last;
        text += " " + name + " = f32[512] add(" + last + ", " + other + ")\n";
        last = name;
      }
    }
    text += " ROOT r = f32[512] add(" + last + ", " + sum + ")";
    const Simulation run = simulate(spmd(text), {.name = "toy"}, TwoTimes());
    if (!run.communication) continue;
    const double hidden = run.communication->hidden.value;
    const double exposed = run.communication->time.value - hidden;
    const double compute = run.time.value - run.communication->time.value;
    ASSERT_GE(exposed, -1e-15);
    ASSERT_LE(hidden, compute + 1e-15);
    ASSERT_NEAR(run.timeline.value, compute + exposed, 1e-12);
  }
}

TEST(CommunicationTime, OnASliceDependsOnWhereTheGroupsSit) {
  const auto time_s = [](const std::string& groups, const std::string& shape) {
    const hwdesc::Device device =
        hwdesc::load_device("tpu_v5e", {{"interconnect.slice.shape", shape}});
    const ir::Program program =
        spmd(" ROOT z = f32[512] all-reduce(x), channel_id=1, replica_groups=" + groups +
             ", use_global_device_ids=true, to_apply=add");
    return simulate(program, device, analytical::AnalyticalModel()).time.value;
  };
  EXPECT_LT(time_s("{{0,1},{2,3}}", "1x4"), time_s("{{0,2},{1,3}}", "1x4"));  // two hops, shared
  EXPECT_EQ(time_s("{{0,1},{2,3}}", "2x2"), time_s("{{0,2},{1,3}}", "2x2"));  // rows and columns
  EXPECT_THROW((void)time_s("{{0,1},{2,3}}", "1x2"), Error);
}

}  // namespace
}  // namespace tilecast::sim
