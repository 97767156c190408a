// Kernels of CUDA graphs in a profile: which instruction each belongs to. Times in picoseconds.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "measured/importers/xplane.h"
#include "measured/importers/xplane_join.h"
#include "tests/measured/xplane_profile.h"

namespace tilecast::measured {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr double kPs = 1e-12;

// Two fusions that compute the same, a copy and three calls of a library, in this order; the last
// call computes what the second does.
constexpr const char* kModule = R"(HloModule jit_f, is_scheduled=true

fused_one {
  a = f32[64,64]{1,0} parameter(0)
  ROOT s = f32[64,64]{1,0} add(a, a)
}

fused_two {
  b = f32[64,64]{1,0} parameter(0)
  ROOT t = f32[64,64]{1,0} add(b, b)
}

ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  copy.4 = f32[64,64]{1,0} copy(p)
  loop_add_fusion.2 = f32[64,64]{1,0} fusion(copy.4), kind=kLoop, calls=fused_one
  custom-call.1 = f32[32,64]{1,0} custom-call(loop_add_fusion.2), custom_call_target="library"
  custom-call.7 = f32[64,64]{1,0} custom-call(custom-call.1), custom_call_target="library"
  loop_add_fusion.3 = f32[64,64]{1,0} fusion(custom-call.7), kind=kLoop, calls=fused_two
  custom-call.8 = f32[64,64]{1,0} custom-call(custom-call.1), custom_call_target="library"
  ROOT out = (f32[64,64]{1,0}, f32[64,64]{1,0}) tuple(loop_add_fusion.3, custom-call.8)
}
)";

struct GraphKernel {
  std::string name;
  std::int64_t ps = 0;
  std::uint64_t node = 0;
};

// Launches a graph `runs` times; its kernels take `ps` in the first run, one more in each further.
void launch(Plane& device, const std::vector<GraphKernel>& kernels, int runs) {
  std::int64_t time = 1000;
  for (int run = 0; run < runs; ++run) {
    for (const GraphKernel& kernel : kernels) {
      device.event(kernel.name, time, kernel.ps + run,
                   {{"hlo_op", Ref{"command_buffer_1"}},
                    {"hlo_module", std::string("jit_f")},
                    {"program_id", std::uint64_t{5}},
                    {"correlation_id", std::uint64_t(run + 1)},
                    {"cuda_graph_id", std::uint64_t{3}},
                    {"cuda_graph_node_id", kernel.node},
                    {"kernel_details",
                     "regs:20 static_shared:32 dynamic_shared:100 grid:8,2,1 "
                     "block:256,1,1 occ_pct:75"}});
      time += 1000;
    }
  }
}

class XplaneGraphs : public ::testing::Test {
 protected:
  XplaneGraphs() {
    device_.line("Stream #14(Compute)");
    disk_.folder().write("f.hlo", kModule);
  }
  const JoinedModule& joined() {
    profile_ = read_xplane({disk_.write()}, {});
    join_ = join_modules(profile_, {disk_.at("f.hlo")});
    return join_.modules.at(0);
  }

  ProfileOnDisk disk_;
  Plane device_ = disk_.plane("/device:GPU:0");
  XplaneProfile profile_;
  XplaneJoin join_;
};

std::map<std::string, std::pair<std::int64_t, double>> counts_and_ps(
    const std::map<std::string, XplaneTimes>& rows) {
  std::map<std::string, std::pair<std::int64_t, double>> result;
  for (const auto& [name, times] : rows) {
    result[name] = {times.occurrences, std::round(times.total.value / kPs)};
  }
  return result;
}

TEST_F(XplaneGraphs, JoinByNameByScheduleAndMemsetsOnTheirOwn) {
  launch(device_,
         {{"memcpy128", 5, 9},
          {"loop_add_fusion_2", 10, 1},
          {"Memset 0", 1, 10},
          {"gemm_64x64", 100, 11},
          {"splitKreduce", 20, 12},
          {"gemm_128x64", 200, 13},
          {"loop_add_fusion_2", 12, 2},
          {"gemm_128x64", 220, 14}},
         2);
  const JoinedModule& module = joined();
  EXPECT_THAT(counts_and_ps(module.instructions),
              UnorderedElementsAre(Pair("copy.4", Pair(2, 5 + 6)),
                                   // One row for both, named as their code is.
                                   Pair("loop_add_fusion.2", Pair(4, 10 + 11 + 12 + 13)),
                                   // Two kernels are one call.
                                   Pair("custom-call.1", Pair(2, 100 + 20 + 101 + 21)),
                                   Pair("custom-call.7", Pair(4, 200 + 220 + 201 + 221))));
  EXPECT_THAT(counts_and_ps(module.transfers), ElementsAre(Pair("memset", Pair(2, 1 + 2))));
  EXPECT_NEAR(module.instructions.at("loop_add_fusion.2").median.value / kPs, 11.5, 1e-6);
  EXPECT_NEAR(module.instructions.at("custom-call.1").median.value / kPs, 121, 1e-6);
  EXPECT_TRUE(join_.left_over.empty());
  EXPECT_NEAR((join_.kernels + join_.transfers).value, profile_.device_time.value, 1e-15);
  EXPECT_EQ(profile_.modules[0].runs.occurrences, 2);
}

TEST_F(XplaneGraphs, WithoutNodeIdsKernelsAreCountedByName) {
  for (int run = 0; run < 3; ++run) {
    device_.kernel("loop_add_fusion_2.kd", "command_buffer_1", 5, 100 * run, 10);
    device_.kernel("gemm_64x64", "command_buffer_1", 5, 100 * run + 20, 30);
  }
  EXPECT_THAT(counts_and_ps(joined().instructions),
              UnorderedElementsAre(Pair("loop_add_fusion.2", Pair(3, 30)),
                                   Pair("custom-call.1", Pair(3, 90))));
}

TEST_F(XplaneGraphs, WhatIsOfNoModuleIsLeftOver) {
  launch(device_, {{"loop_add_fusion_2", 10, 1}, {"loop_other_fusion", 7, 2}}, 1);
  EXPECT_THAT(counts_and_ps(joined().instructions),
              UnorderedElementsAre(Pair("loop_add_fusion.2", Pair(1, 10)),
                                   Pair("custom-call.1", Pair(1, 7))));
  device_.event("lost", 5000, 9,
                {{"hlo_op", Ref{"command_buffer_1"}},
                 {"hlo_module", std::string("jit_g")},
                 {"program_id", std::uint64_t{9}}});
  disk_.plane("/host:metadata").module(9, "jit_g(9)", "no module");
  (void)joined();
  ASSERT_EQ(join_.left_over.size(), 1U);
  EXPECT_EQ(join_.left_over[0].name, "lost of jit_g");
  EXPECT_EQ(join_.left_over[0].category, "unknown module");
}

TEST_F(XplaneGraphs, LaunchesAreReadAsTheProfileStatesThem) {
  launch(device_, {{"loop_add_fusion_2", 10, 1}}, 1);
  const XplaneLaunch& launch = *joined().instructions.at("loop_add_fusion.2").launch;
  EXPECT_EQ(launch.registers, 20);
  EXPECT_EQ(launch.shared_bytes, 132);
  EXPECT_EQ(launch.grid, "8x2x1");
  EXPECT_EQ(launch.block, "256x1x1");
  EXPECT_EQ(launch.occupancy, 0.75);
}

TEST_F(XplaneGraphs, KernelsOfOneScopeAreOneOccurrence) {
  const auto add = [&](const std::string& name, std::int64_t start, std::uint64_t scope) {
    device_.event(name, start, 10,
                  {{"hlo_op", Ref{"custom-call.1"}},
                   {"hlo_module", std::string("jit_f")},
                   {"program_id", std::uint64_t{5}},
                   {"scope_range_id", scope}});
  };
  for (std::uint64_t run = 1; run <= 2; ++run) {
    const auto start = static_cast<std::int64_t>(run) * 1000;
    for (int i = 0; i < 3; ++i) add("Memset 3", start + 10 * i, run);
    add("attention", start + 40, run);
  }
  EXPECT_THAT(counts_and_ps(joined().instructions),
              ElementsAre(Pair("custom-call.1", Pair(2, 80))));
}

}  // namespace
}  // namespace tilecast::measured
