// Damaged profiles: a result or an error, never a crash, and never a time that is not a number.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "measured/importers/xplane_join.h"
#include "tests/measured/xplane_profile.h"
#include "tests/support/damage.h"

namespace tilecast::measured {
namespace {

std::string tpu_profile() {
  ProfileOnDisk disk;
  Plane device = disk.plane("/device:TPU:0");
  device.fact("peak_teraflops_per_second", 9.0);
  device.line("XLA Modules");
  device.event("jit_f(5)", 0, 400);
  device.line("XLA Ops");
  device.op("tanh.1", 5, 0, 100);
  device.op("copy-start.2", 5, 10, 20);
  device.event("%copy-done.2 = f32[] copy-done()", 90, 10,
               {{"device_offset_ps", std::uint64_t{7}}, {"device_duration_ps", 12.0}});
  device.line("Async XLA Ops");
  device.op("copy-start.2", 5, 10, 90);
  disk.plane("/host:metadata").module(5, "jit_f(5)", module_proto("jit_f"));
  return disk.bytes();
}

std::string gpu_profile() {
  ProfileOnDisk disk;
  disk.plane("/host:metadata").module(5, "jit_f(5)", module_proto("jit_f"));
  Plane device = disk.plane("/device:GPU:0");
  device.fact("clock_rate", std::uint64_t{2100000});
  device.line("Stream #1(Kernel)");
  device.kernel("tanh", "tanh.1", 5, 0, 100);
  device.kernel("copy", "copy-start.2", 5, 100, 20).set_num_occurrences(3);
  device.event("Memset", 200, 10);
  return disk.bytes();
}

void expect_sane(Seconds time) {
  ASSERT_TRUE(std::isfinite(time.value) && time.value >= 0) << time.value;
}

TEST(XplaneProperty, DamagedProfilesGiveTimesOrAnError) {
  ProfileOnDisk disk;
  support::expect_answer_or_error(
      {tpu_profile(), gpu_profile()}, 5000, 7, [&](const std::string& bytes) {
        // Removed instead of truncated, because file systems sync rewritten files to disk.
        std::filesystem::remove(disk.at("damaged.xplane.pb"));
        disk.folder().write("damaged.xplane.pb", bytes);
        const XplaneProfile profile = read_xplane({disk.at("damaged.xplane.pb")}, {});
        expect_sane(profile.device_time);
        expect_sane(Seconds{profile.device.peak_flops});
        for (const XplaneModule& module : profile.modules) {
          for (const auto& [name, times] : module.instructions) {
            for (const Seconds time : {times.total, times.median, times.min, times.spread}) {
              expect_sane(time);
            }
          }
        }
        expect_sane(join_modules(profile, {}).kernels);
      });
}

}  // namespace
}  // namespace tilecast::measured
