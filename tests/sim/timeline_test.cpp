#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>

#include "analytical/analytical_model.h"
#include "base/error.h"
#include "base/source_text.h"
#include "hwdesc/device_yaml.h"
#include "ir/text/hlo_parser.h"
#include "sim/run_parts.h"
#include "sim/simulator.h"
#include "sim/views/simulation.h"
#include "tests/support/errors.h"

namespace tilecast::sim {
namespace {

using ::testing::HasSubstr;

TEST(Timeline, RunsComputeKernelsOneAfterTheOther) {
  const std::vector<Task> tasks{{Seconds{2}}, {Seconds{3}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[1].start, Seconds{2});
  EXPECT_EQ(timeline.makespan, Seconds{5});
}

TEST(Timeline, HidesACopyBehindTheKernelsUpToItsUser) {
  const std::vector<Task> tasks{
      {.duration = Seconds{4}, .lane = Lane::kDma, .waits_for = {}, .done_before = 2},
      {Seconds{3}},
      {Seconds{1}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[1].start, Seconds{0});
  EXPECT_EQ(timeline.spans[2].start, Seconds{4});
  EXPECT_EQ(timeline.makespan, Seconds{5});
}

TEST(Timeline, IssuesACopyOnlyWhenTheKernelsBeforeItHaveEnded) {
  const std::vector<Task> tasks{{Seconds{3}}, {.duration = Seconds{1}, .lane = Lane::kDma}};
  EXPECT_EQ(schedule(tasks).spans[1].start, Seconds{3});
}

TEST(Timeline, ACollectiveHoldsUpOnlyWhoUsesItsResult) {
  const std::vector<Task> tasks{{Seconds{1}},
                                {.duration = Seconds{5}, .lane = Lane::kNetwork, .waits_for = {0}},
                                {Seconds{2}},
                                {.duration = Seconds{1}, .waits_for = {1}}};
  const Timeline timeline = schedule(tasks);
  EXPECT_EQ(timeline.spans[2].start, Seconds{1});
  EXPECT_EQ(timeline.spans[3].start, Seconds{6});
}

TEST(Timeline, OfNothingEndsAtZero) {
  EXPECT_EQ(schedule({}).makespan, Seconds{0});
}

std::vector<Task> random_tasks(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return std::size_t{random() % n}; };
  std::vector<Task> tasks(1 + below(40));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].duration = Seconds{static_cast<double>(below(1000))};
    tasks[i].lane = static_cast<Lane>(below(kLaneCount));
    for (std::size_t edges = below(3); i > 0 && edges > 0; --edges) {
      tasks[i].waits_for.push_back(below(i));
    }
    if (tasks[i].lane != Lane::kCompute && i > 0 && below(4) == 0) tasks[i].beside = below(i);
    if (tasks[i].lane != Lane::kCompute && i + 1 < tasks.size() && below(2) == 0) {
      tasks[i].done_before = i + 1 + below(tasks.size() - i - 1);
    }
  }
  return tasks;
}

// Longest chain of durations along waits_for and done_before edges.
Seconds critical_path(const std::vector<Task>& tasks) {
  std::vector<Seconds> ready(tasks.size());
  Seconds longest;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto end_of = [&](std::size_t t) { return ready[t] + tasks[t].duration; };
    for (const std::size_t earlier : tasks[i].waits_for) {
      ready[i] = std::max(ready[i], end_of(earlier));
    }
    if (tasks[i].done_before) {
      Seconds& user = ready[*tasks[i].done_before];
      user = std::max(user, end_of(i));
    }
    longest = std::max(longest, end_of(i));
  }
  return longest;
}

TEST(TimelineProperty, MakespanLiesBetweenItsLowerBoundsAndTheSum) {
  std::mt19937 random(20);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const Timeline timeline = schedule(tasks);
    Seconds sum;
    std::array<Seconds, kLaneCount> work{};
    for (const Task& task : tasks) {
      sum += task.duration;
      work[static_cast<std::size_t>(task.lane)] += task.duration;
    }
    EXPECT_LE(timeline.makespan, sum);
    EXPECT_GE(timeline.makespan, critical_path(tasks));
    for (const Seconds lane : work) EXPECT_GE(timeline.makespan, lane);
  }
}

TEST(TimelineProperty, NoTaskStartsBeforeWhatItWaitsForOrOverlapsItsLane) {
  std::mt19937 random(21);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const std::vector<Span> spans = schedule(tasks).spans;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const std::size_t earlier : tasks[i].waits_for) {
        EXPECT_GE(spans[i].start, spans[earlier].end);
      }
      if (tasks[i].done_before) {
        EXPECT_GE(spans[*tasks[i].done_before].start, spans[i].end);
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (tasks[j].lane == tasks[i].lane) {
          EXPECT_GE(spans[i].start, spans[j].end);
        }
      }
    }
  }
}

// --- Communication in simulate(): its time, the part hidden by compute kernels, and the effect of
// the placement of groups on a slice.

// Collectives, and kernels called "begin", take 5 us, all others 2 us.
class TwoTimes final : public analytical::CostModel {
 public:
  std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries, const hwdesc::Device&) const override {
    std::vector<std::optional<analytical::Estimate>> answers;
    for (const analytical::KernelQuery& query : queries) {
      const bool crosses = ir::op_class(query.kernel.opcode()) == ir::OpClass::kCollective ||
                           query.kernel.name() == "begin";
      answers.emplace_back().emplace().time = Seconds{crosses ? 5e-6 : 2e-6};
    }
    return answers;
  }
};

ir::Program spmd(const std::string& entry, bool is_scheduled = true,
                 const std::string& fused = "") {
  return ir::make_program(ir::parse_hlo(base::SourceText(
      "t.hlo",
      std::string("HloModule m, num_partitions=4") +
          (is_scheduled ? ", is_scheduled=true\n" : "\n") +
          "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n" +
          fused + "ENTRY main { x = f32[512] parameter(0)\n" + entry + " }\n")));
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

TEST(CommunicationTime, BlocksTheCoreUnlessAsynchronousOrNotScheduledYet) {
  const std::string text = std::string(" sum = f32[512] all-reduce(x), ") + kGroups +
                           "\n y = f32[512] multiply(x, x)\n ROOT z = f32[512] add(y, sum)";
  const Simulation by_compiler = simulate(spmd(text), {.name = "toy"}, TwoTimes());
  EXPECT_EQ(by_compiler.communication->hidden, Seconds{0});
  EXPECT_NEAR(by_compiler.timeline.value, 5e-6 + 2 * 2e-6, 1e-15);
  const Simulation open = simulate(spmd(text, false), {.name = "toy"}, TwoTimes());
  EXPECT_NEAR(open.timeline.value, 5e-6 + 2e-6, 1e-15);
}

// Both ends of what the hosts of two slices do, as XLA:TPU writes it; `more`: attributes.
std::string over_slices(const std::string& type, const std::string& target,
                        const std::string& received = "f32[512]") {
  const std::string more =
      ", is_host_transfer=true, frontend_attributes={"
      "_xla_host_transfer_rendezvous=\"g\",_xla_megascale_target=" +
      target + ",_xla_megascale_transfer_type=\"" + type + "\"}\n";
  return " t = token[] after-all()\n"
         " send = (f32[512], u32[], token[]) send(x, t), channel_id=1" +
         more + " recv = (" + received + ", u32[], token[]) recv(t), channel_id=2" + more +
         " sent = token[] send-done(send), channel_id=1, is_host_transfer=true\n"
         " y = f32[512] multiply(x, x)\n"
         " got = (" +
         received +
         ", token[]) recv-done(recv), channel_id=2, "
         "is_host_transfer=true\n z = " +
         received + " get-tuple-element(got), index=0\n";
}

TEST(CommunicationTime, BetweenSlicesRunsBesideTheRestUntilItIsReceived) {
  const Simulation run =
      simulate(spmd(over_slices("ALL_REDUCE", "\"{1,2}x{0:3}\"") + " ROOT s = f32[512] add(y, z)"),
               {.name = "toy"}, TwoTimes());
  ASSERT_EQ(run.kernels.size(), 4U);  // send, receive, multiply, add
  EXPECT_EQ(run.kernels[0].lane, Lane::kSlices);
  EXPECT_EQ(run.kernels[1].lane, Lane::kSlices);
  EXPECT_EQ(run.kernels[2].start, Seconds{0});
  EXPECT_NEAR(run.kernels[3].start.value, 2 * 5e-6, 1e-15);
  EXPECT_EQ(run.devices, 2 * 4);  // the module is one slice's
  EXPECT_NEAR(run.communication->hidden.value, 2e-6, 1e-15);
}

TEST(CommunicationTime, BetweenSlicesGoesAtTheRateOfTheHostsNetwork) {
  hwdesc::Device d = hwdesc::load_device("tpu_v6e");
  d.interconnect->network_bandwidth = BytesPerSecond{8e9};  // 1 GB/s for each of eight chips
  d.interconnect->network_latency = Seconds{3e-6};
  const double host_s = d.host_link->latency.value, bytes = 4 * 512;
  struct Case {
    const char *type, *target, *received;
    double sent, messages;  // shares of `bytes` that a chip sends
  };
  constexpr Case kCases[] = {
      {"ALL_REDUCE", "\"{1,2}x{0:3}\"", "f32[512]", 1, 2},
      {"ALL_GATHER", "\"{1:4}x{0:3}\"", "f32[2048]", 3, 2},
      {"REDUCE_SCATTER", "\"{1,2,3,4}x{0:3}\"", "f32[128]", 0.75, 2},
      {"ALL_TO_ALL", "{{100000,200000},{100001,200001}}", "f32[512]", 0.5, 1},
      {"ONE_TO_ONE", "{{100000->200000},{200000->100000}}", "f32[512]", 1, 1}};
  for (const Case& c : kCases) {
    const Simulation run = simulate(spmd(over_slices(c.type, c.target, c.received) + " ROOT r = (" +
                                         c.received + ", f32[512]) tuple(z, y)"),
                                    d, analytical::AnalyticalModel());
    EXPECT_NEAR(run.kernels[0].estimate->time.value,
                c.sent * bytes / 1e9 + c.messages * 3e-6 + host_s, 1e-9)
        << c.type;
    EXPECT_NEAR(run.kernels[1].estimate->time.value, host_s, 1e-9) << c.type;
    EXPECT_THAT(views::table(run), HasSubstr("slices at 8 GB/s a host"));
  }
  d.interconnect->network_bandwidth.reset();
  EXPECT_THAT(support::error_of([&] {
                return simulate(spmd(over_slices("ALL_REDUCE", kCases[0].target) +
                                     " ROOT s = f32[512] add(y, z)"),
                                d, analytical::AnalyticalModel());
              }),
              HasSubstr("network_bandwidth"));
}

// As XLA:TPU fuses a gather into what runs beside it: a fusion that starts it and hands out flags,
// one that passes them on, and one that ends it.
std::string fused_gather() {
  const std::string gather =
      " g = f32[512] all-gather(p), channel_id=7, replica_groups={{0,1,2,3}}, dimensions={0}, "
      "use_global_device_ids=true\n";
  return "start { p = f32[128] parameter(0)\n" + gather +
         " ROOT c = (f32[128], f32[512], u32[]{:S(2)}) custom-call(g), "
         "custom_call_target=\"AsyncCollectiveStart\" }\n"
         "beside { f = u32[]{:S(2)} parameter(0)\n y = f32[512] parameter(1)\n"
         " m = f32[512] multiply(y, y)\n ROOT t = (f32[512], u32[]{:S(2)}) tuple(m, f) }\n"
         "finish { w = f32[512] parameter(0)\n f = u32[]{:S(2)} parameter(1)\n"
         " p = f32[128] parameter(2)\n" +
         gather +
         " ROOT c = f32[512] custom-call(w, f, g), custom_call_target=\"AsyncCollectiveDone\" }\n";
}

TEST(CommunicationTime, OfAGatherInsideOtherFusionsEndsWithTheOneThatEndsIt) {
  const Simulation run = simulate(
      spmd(" part = f32[128] slice(x), slice={[0:128]}\n"
           " begin = (f32[128], f32[512], u32[]{:S(2)}) fusion(part), kind=kCustom, calls=start\n"
           " w = f32[512] get-tuple-element(begin), index=1\n"
           " f = u32[]{:S(2)} get-tuple-element(begin), index=2\n"
           " both = (f32[512], u32[]{:S(2)}) fusion(f, x), kind=kLoop, calls=beside\n"
           " y = f32[512] get-tuple-element(both), index=0\n"
           " f2 = u32[]{:S(2)} get-tuple-element(both), index=1\n"
           " end = f32[512] fusion(w, f2, part), kind=kCustom, calls=finish\n"
           " ROOT z = f32[512] add(y, end)",
           true, fused_gather()),
      {.name = "toy"}, TwoTimes());
  ASSERT_EQ(run.kernels.size(), 5);
  EXPECT_EQ(run.kernels[1].lane, Lane::kNetwork);
  EXPECT_NEAR(run.kernels[2].start.value, 2e-6, 1e-15);  // with the gather, after the slice
  EXPECT_NEAR(run.kernels[3].start.value, 2e-6 + 5e-6, 1e-15);
  EXPECT_NEAR(run.timeline.value, 2e-6 + 5e-6 + 2 * 2e-6, 1e-15);
}

// Every trip ends the gather that the one before started.
TEST(CommunicationTime, OfAGatherAroundTheBackEdgeOfALoopIsHiddenByTheLoop) {
  const std::string state = "(s32[], f32[512], f32[512], u32[]{:S(2)})";
  const auto start = [](const std::string& of) {
    return " part = f32[128] slice(" + of +
           "), slice={[0:128]}\n"
           " begin = (f32[128], f32[512], u32[]{:S(2)}) fusion(part), kind=kCustom, calls=start\n"
           " w = f32[512] get-tuple-element(begin), index=1\n"
           " f = u32[]{:S(2)} get-tuple-element(begin), index=2\n";
  };
  const std::string finish =
      " end = f32[512] fusion(held, flag, old), kind=kCustom, calls=finish\n";
  const std::string loop =
      "test { s = " + state +
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(10)\n"
      " ROOT c = pred[] compare(i, n), direction=LT }\n"
      "trip { s = " +
      state +
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n"
      " j = s32[] add(i, one)\n x = f32[512] get-tuple-element(s), index=1\n"
      " held = f32[512] get-tuple-element(s), index=2\n"
      " flag = u32[]{:S(2)} get-tuple-element(s), index=3\n"
      " old = f32[128] slice(x), slice={[0:128]}\n" +
      finish + " y = f32[512] multiply(x, end)\n" + start("y") + " ROOT t = " + state +
      " tuple(j, x, w, f) }\n";
  const Simulation run = simulate(spmd(start("x") + " z = s32[] constant(0)\n s = " + state +
                                           " tuple(z, x, w, f)\n loop = " + state +
                                           " while(s), condition=test, body=trip, "
                                           "backend_config={\"known_trip_count\":{\"n\":\"10\"}}\n"
                                           " held = f32[512] get-tuple-element(loop), index=2\n"
                                           " flag = u32[]{:S(2)} get-tuple-element(loop), index=3\n"
                                           " old = f32[128] slice(x), slice={[0:128]}\n" +
                                           finish + " ROOT r = f32[512] negate(end)",
                                       true, fused_gather() + loop),
                                  {.name = "toy"}, TwoTimes());
  // A slice; six kernels a trip, which take longer than a gather; three after the loop.
  EXPECT_NEAR(run.timeline.value, (1 + 10 * 6 + 3) * 2e-6, 1e-15);
}

// A SparseCore runs the computation that a custom call names.
TEST(CommunicationTime, OfASparseCoreRunsBesideTheCore) {
  const std::string fused =
      "inner { p = f32[128] parameter(0)\n ROOT g = f32[512] all-gather(p), channel_id=7, "
      "replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true\n"
      "}, execution_thread=\"sparsecore\"\n"
      "outer { p = f32[128] parameter(0)\n ROOT c = f32[512] custom-call(p), "
      "custom_call_target=\"any\", called_computations={inner}\n"
      "}, execution_thread=\"sparsecore\"\n";
  const Simulation run =
      simulate(spmd(" part = f32[128] slice(x), slice={[0:128]}\n"
                    " begin = ((f32[128]), f32[512], u32[]) async-start(part), "
                    "async_execution_thread=\"sparsecore\", calls=outer\n"
                    " y = f32[512] multiply(x, x)\n"
                    " done = f32[512] async-done(begin)\n ROOT z = f32[512] add(y, done)",
                    true, fused),
               {.name = "toy"}, TwoTimes());
  ASSERT_TRUE(run.communication);
  EXPECT_NEAR(run.communication->time.value, 5e-6, 1e-15);
  EXPECT_NEAR(run.communication->hidden.value, 2e-6, 1e-15);
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
    const Simulation run = simulate(spmd(text, round % 2 == 0), {.name = "toy"}, TwoTimes());
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

// --- Energy of programs: its parts sum up, and every key of the description has an effect.

// Two large products of f32, one of each other type, exponentials and an all-reduce.
std::string everything() {
  std::string text = R"(HloModule everything, is_scheduled=true, replica_count=4
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[2048,2048] parameter(0)
  y = f32[2048,2048] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[2048,2048] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[2048,2048] exponential(z)
  f = f32[2048,2048] add(e, x)
)";
  for (const char* dtype : {"bf16", "f16", "f8e4m3fn", "s8", "s4", "f64"}) {
    text += fmt::format(
        "  c_{0} = {0}[2048,2048] convert(x)\n"
        "  d_{0} = {0}[2048,2048] dot(c_{0}, c_{0}), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}}\n",
        dtype);
  }
  return text + R"(  ROOT r = f32[2048,2048] all-reduce(f), replica_groups={{0,1,2,3}}, to_apply=add
}
)";
}

Simulation run_on(const hwdesc::Device& device) {
  const ir::Program program =
      ir::make_program(ir::parse_hlo(base::SourceText("t.hlo", everything())));
  return simulate(program, device, analytical::AnalyticalModel());
}

TEST(ProgramEnergy, IsTheSumOverLaunchesAndIdlingOnTheTimeline) {
  const hwdesc::Device device = hwdesc::load_device("h100_sxm");
  const Simulation run = run_on(device);
  ASSERT_TRUE(run.energy);
  double dynamic_J = 0;
  for (const SimulatedKernel& kernel : run.kernels) {
    dynamic_J += kernel.multiplicity * kernel.estimate->energy->total().value;
  }
  EXPECT_NEAR(run.energy->dynamic.total().value, dynamic_J, 1e-9 * dynamic_J);
  EXPECT_DOUBLE_EQ(run.energy->idle.value, device.energy->idle_power.value * run.timeline.value);
  EXPECT_DOUBLE_EQ(run.energy->average_power().value,
                   run.energy->total().value / run.timeline.value);
}

TEST(ProgramEnergy, IsNotDescribedByAMachineWithoutTheBlock) {
  const Simulation run = run_on(hwdesc::load_device("h100_sxm", {{"energy", "null"}}));
  EXPECT_EQ(run.energy, std::nullopt);
  EXPECT_THAT(views::table(run), HasSubstr("energy    not described\n"));
  EXPECT_THAT(views::json({&run, 1}), HasSubstr("\"energy_J\": null"));
}

TEST(ProgramEnergy, ChangesNoTimeWhereNoPowerIsLimited) {
  const Simulation with = run_on(hwdesc::load_device("h100_sxm"));
  const Simulation without = run_on(hwdesc::load_device("h100_sxm", {{"energy", "null"}}));
  EXPECT_EQ(with.time, without.time);
  EXPECT_EQ(with.timeline, without.timeline);
}

TEST(ProgramEnergy, SaysWhatAPowerLimitDoes) {
  const Simulation run = run_on(hwdesc::load_device("l4"));
  ASSERT_TRUE(run.energy);
  EXPECT_GE(run.energy->limited_kernels, 2u);
  EXPECT_LT(run.energy->lowest_clock, 0.5);
  EXPECT_LE(run.energy->average_power().value, 72.001);
  EXPECT_THAT(views::table(run), HasSubstr("limit 72 W: lowers the clock of"));
  EXPECT_THAT(views::csv({&run, 1}), HasSubstr(",energy_J,"));
}

// A key that changes neither energy nor time would be unused.
TEST(EnergyKeys, EachChangeWhatIsPredicted) {
  const hwdesc::Device device = hwdesc::load_device("l4");
  const Simulation before = run_on(device);
  int keys = 0;
  for (const auto& [path, value] : hwdesc::flatten(device)) {
    const bool is_text = path.ends_with("source") || path.ends_with("estimated");
    if (!path.starts_with("energy.") || is_text) continue;
    ++keys;
    const std::size_t space = value.find(' ');
    // A window longer than every launch limits none.
    const double other = path == "energy.power_window" ? 1 : 1.5 * std::stod(value);
    const std::string unit = space == std::string::npos ? "" : value.substr(space);
    const Simulation after =
        run_on(hwdesc::load_device("l4", {{path, fmt::format("{}{}", other, unit)}}));
    EXPECT_NE(after.energy->total(), before.energy->total()) << path;
  }
  EXPECT_EQ(keys, 7 + 2 + 3 + 1 + 3 + 1);  // types, units, levels, links, powers, exponent
}
}  // namespace
}  // namespace tilecast::sim
