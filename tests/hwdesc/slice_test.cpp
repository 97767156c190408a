// The block interconnect.slice: valid values, errors with their places, and omission of the block.
#include "hwdesc/slice.h"

#include <gmock/gmock.h>

#include "hwdesc/device_numbers.h"
#include "hwdesc/device_yaml.h"
#include "tests/support/errors.h"

namespace tilecast::hwdesc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string slice_refusal(const std::string& block, const std::string& base = "tpu_v5p") {
  return support::error_of(
      [&] {
        return parse_device("extends: " + base + "\ninterconnect:\n  slice: " + block + "\n",
                            "chip.yaml");
      },
      "loaded");
}

TEST(SliceBlock, IsReadAndPrintedAsItIsWritten) {
  const Device device = parse_device(
      "extends: tpu_v5p\ninterconnect:\n  slice: {shape: 4x4x8, wraps: ring ring line, count: 2, "
      "network_bandwidth: 25 GB/s, network_latency: 10 us}\n",
      "chip.yaml");
  const Slice& slice = *device.interconnect->slice;
  EXPECT_THAT(slice_shape(slice.shape), ElementsAre(4, 4, 8));
  EXPECT_THAT(slice_rings(slice.wraps, 3), ElementsAre(true, true, false));
  EXPECT_EQ(slice.count, 2);
  EXPECT_EQ(slice.network_bandwidth, BytesPerSecond{25e9});
  EXPECT_DOUBLE_EQ(slice.network_latency.value, 10e-6);
  EXPECT_EQ(flatten(parse_device(print_device(device), "chip.yaml")), flatten(device));
}

TEST(SliceBlock, LeftOutAddsNoKeyAndNoNumber) {
  const Device device = load_device("tpu_v5p");
  EXPECT_FALSE(device.interconnect->slice);
  for (const auto& [path, value] : flatten(device)) {
    EXPECT_EQ(path.find("slice"), std::string::npos) << path;
  }
  EXPECT_EQ(find_number(device_numbers(device), "interconnect.slice.count"), nullptr);
  EXPECT_NE(load_device("tpu_v5p", {{"interconnect.slice.shape", "4x4"}}).machine, device.machine);
}

TEST(SliceBlock, IsSetLikeAnyOtherKey) {
  const Device device =
      load_device("h100_sxm", {{"interconnect.slice.shape", "8"},
                               {"interconnect.slice.count", "4"},
                               {"interconnect.slice.network_bandwidth", "400 GB/s"}});
  EXPECT_EQ(device.interconnect->slice->count, 4);
  EXPECT_NE(find_number(device_numbers(device), "interconnect.slice.network_bandwidth"), nullptr);
}

TEST(SliceBlock, RefusesSlipsWithTheirPlaceAndWhatWasExpected) {
  EXPECT_THAT(slice_refusal("{shape: 4xx4}"),
              AllOf(HasSubstr("chip.yaml:3:"), HasSubstr("interconnect.slice.shape: got '4xx4'"),
                    HasSubstr("such as 4x4x8")));
  for (const char* shape : {"0x4", "4x-1", "4 x 4", "x4", "4x", "4.5", "99999999", "2000000x2"}) {
    EXPECT_THAT(slice_refusal("{shape: \"" + std::string(shape) + "\"}"), HasSubstr("shape: got"))
        << shape;
  }
  EXPECT_THAT(slice_refusal("{shape: 4x4x4}", "tpu_v5e"), HasSubstr("at most 2 dimensions"));
  EXPECT_THAT(slice_refusal("{shape: 2x4}", "h100_sxm"), HasSubstr("at most 1 dimension;"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, wraps: ring}"), HasSubstr("for each of 2 dimensions"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, wraps: ring loop}"), HasSubstr("slice.wraps: got"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, count: 2}"),
              HasSubstr("interconnect.slice.network_bandwidth: missing"));
  EXPECT_THAT(slice_refusal("{shap: 4x4}"), HasSubstr("'shape' is missing"));
  EXPECT_THAT(slice_refusal("{shape: 4x4, cuont: 2}"), HasSubstr("did you mean 'count'?"));
}

}  // namespace
}  // namespace tilecast::hwdesc
