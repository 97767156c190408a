// The fittable constants of a device as one vector x, with a prior at x = 0.
//
//   multipliers, dispatch    value = described * exp(x)
//   kernel_overhead          value = described + x * 5 us
//
// x is normal with the stated standard deviation, so a prior of 0.1 means "known to about 10 %".
// Bounds keep every value physical: sustained rates at or below their peaks, times above zero.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

struct Constant {
  std::string name;           // a key of the calibration block; "dispatch.matmul"
  bool is_time = false;       // value in seconds; false: a multiplier
  bool is_share = false;      // a share of a published peak
  double described = 1;       // value at x = 0
  double prior = 0.1;         // standard deviation of x
  double low = -1, high = 1;  // bounds of x
  double linear_unit = 0;     // > 0: value = described + x * linear_unit
  double hwdesc::Calibration::*member = nullptr;  // the field of a multiplier

  [[nodiscard]] double value(double x) const;
};

// The constants that `device` has and the sets can determine (dispatch: those op classes whose
// times include it), except the names in `fixed` ("dispatch" stands for all dispatch constants).
[[nodiscard]] std::vector<Constant> constants_of(const hwdesc::Device& device,
                                                 std::span<const measured::SampleSet> sets,
                                                 const std::set<std::string>& fixed);

// All valid names, for messages: "memory_bandwidth", ..., "dispatch".
[[nodiscard]] std::vector<std::string_view> constant_names();

// A copy of `device` with its calibration block set to x.
[[nodiscard]] hwdesc::Device device_at(const hwdesc::Device& device,
                                       std::span<const Constant> constants,
                                       std::span<const double> x);

}  // namespace tilecast::hybrid
