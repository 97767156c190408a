#include "hybrid/known_devices.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/parallel.h"

namespace tilecast::hybrid {
namespace {

hwdesc::Device named(const std::string& name) {
  hwdesc::Device device;
  device.name = name;
  return device;
}

TEST(KnownDevices, ReadADescriptionOnceAndWhenItIsAskedFor) {
  std::atomic<int> reads = 0;
  KnownDevices devices;
  devices.add(named("a"));
  devices.add("b", [&] {
    ++reads;
    return named("b");
  });
  EXPECT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices.name(1), "b");
  EXPECT_TRUE(devices.has("a") && devices.has("b") && !devices.has("c"));
  EXPECT_EQ(devices[0].name, "a");
  EXPECT_EQ(reads, 0);
  base::parallel_for(8, 4, [&](std::size_t) { EXPECT_EQ(devices[1].name, "b"); });
  EXPECT_EQ(devices.all().back(), &devices[1]);
  EXPECT_EQ(reads, 1);
}

TEST(KnownDevices, ADescriptionThatCannotBeReadIsRefusedEachTime) {
  KnownDevices devices;
  devices.add("bad", []() -> hwdesc::Device { throw Error("device_0.yaml:3:1: got nothing"); });
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)devices[0], Error);
}

}  // namespace
}  // namespace tilecast::hybrid
