// Changing the bound changes the estimates and explanations of every machine based on it. This
// executable defines its own bound, so that the linker omits analytical/pipeline.cpp: a period of
// any loop takes one second.
#include <gmock/gmock.h>

#include "analytical/analytical_model.h"
#include "analytical/collective.h"
#include "analytical/pipeline.h"
#include "hwdesc/device_yaml.h"
#include "test_kernels.h"

namespace tilecast::analytical {

double steady_period_s(const PipelineLoop& /*loop*/) {
  return 1;
}

namespace testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

constexpr double kRest = 1e-3;  // maximum seconds outside of periods

const auto takes = [](double seconds) { return AllOf(Ge(seconds), Le(seconds + kRest)); };

double latency_s(const Estimate& estimate) {
  return estimate.bounds[static_cast<std::size_t>(Bound::kLatency)].value;
}

// Kernels whose time is mostly periods: the explanation gives their time, and that it remains
// whichever resource is removed.
void expect_periods(const Estimate& estimate, double periods, const std::string& what) {
  EXPECT_THAT(estimate.time.value, takes(periods)) << what;
  EXPECT_NEAR(latency_s(estimate), periods, kRest) << what;
  EXPECT_THAT(estimate.next_time.value, takes(periods)) << what;
}

ir::Kernel addition() {
  const std::string shape = array("f32", {2048, 1024});
  return kernel_of(fusion({shape, shape}, shape, "  ROOT r = " + shape + " add(p0, p1)"));
}

ir::Kernel custom_call() {
  return kernel_of(
      "HloModule m\nENTRY main {\n  p0 = f32[512,1024]{1,0} parameter(0)\n"
      "  ROOT r = f32[512,1024]{1,0} custom-call(p0), custom_call_target=\"Mystery\"\n}\n");
}

TEST(OtherBound, MovesScratchpads) {
  const ir::Kernel kernel = addition();
  const TileConfig tile{.output = {8, 8}, .kernel = {}, .input = {}};  // 32 tiles
  for (const char* name : {"tpu_v2", "tpu_v3"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    const KernelAnalysis analysis(kernel, device);
    EXPECT_THAT(analysis.time(tile).value, takes(31)) << name;
    expect_periods(std::get<Estimate>(analysis.estimate(tile)), 31, name);
  }
}

TEST(OtherBound, MovesThreadBlocks) {
  const ir::Kernel product = product_kernel(4096, 4096, 1024);
  const ir::Kernel chain = chain_kernel(4096, 4096, 2);
  for (const char* name : {"h100_sxm", "a100_sxm_80gb"}) {
    const hwdesc::Device device = hwdesc::load_device(name);
    for (const ir::Kernel* kernel : {&product, &chain}) {
      const KernelAnalysis analysis(*kernel, device);
      const Estimate best = analysis.estimate_best();
      EXPECT_THAT(analysis.time(best.tile).value, takes(1)) << name;
      expect_periods(best, 1, name);
    }
  }
}

TEST(OtherBound, MovesOpaqueKernels) {
  const ir::Kernel kernel = custom_call();
  for (const char* name : {"tpu_v3", "h100_sxm", "cpu_generic"}) {
    expect_periods(KernelAnalysis(kernel, hwdesc::load_device(name)).estimate_best(), 1, name);
  }
}

TEST(OtherBound, MovesCollectives) {
  const CollectiveTime time =
      collective_time(ir::Opcode::kAllReduce, Bytes{1e6}, 8, hwdesc::load_device("tpu_v3"));
  EXPECT_EQ(time.bandwidth_part, Seconds{1});
}

TEST(OtherBound, LeavesCoresWithCachesAlone) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const ir::Kernel kernel = chain_kernel(64, 64, 2);
  EXPECT_LT(KernelAnalysis(kernel, device).estimate_best().time.value, kRest);
}

}  // namespace
}  // namespace testing
}  // namespace tilecast::analytical
