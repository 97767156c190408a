// Lists every number of a description with its path, unit and range, for sweeps and sensitivity
// studies.
//
//   for (const DeviceNumber& n : device_numbers(device)) ...   // "memory.hbm.bandwidth", 9e11
//   find_number(numbers, "hbm.bandwidth")                      // the short form works too
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/device.h"

namespace tilecast::hwdesc {

struct DeviceNumber {
  std::string path;  // as overrides address it
  UnitKind kind = UnitKind::kCount;
  bool integer = false;
  double low = 0, high = 0;  // range in the schema, SI base units
  double value = 0;
};

// In schema order; optional numbers only if given, others including defaults.
[[nodiscard]] std::vector<DeviceNumber> device_numbers(const Device& device);
// Finds a number by its path, also without `memory.` or `transfer.`; null if there is none.
[[nodiscard]] const DeviceNumber* find_number(const std::vector<DeviceNumber>& numbers,
                                              std::string_view path);

}  // namespace tilecast::hwdesc
