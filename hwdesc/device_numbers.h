// Every number of a description with its place, unit and range: what is swept and varied.
//
//   for (const DeviceNumber& n : device_numbers(device)) ...   // "memory.hbm.bandwidth", 9e11
//   find_number(numbers, "hbm.bandwidth")                      // the short form names it, too
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
  double low = 0, high = 0;  // what the schema allows, SI base units
  double value = 0;
};

// In schema order; of optional ones those that are given, of others the defaults, too.
[[nodiscard]] std::vector<DeviceNumber> device_numbers(const Device& device);
// By its path, without `memory.` or `transfer.` too; null: there is none.
[[nodiscard]] const DeviceNumber* find_number(const std::vector<DeviceNumber>& numbers,
                                              std::string_view path);

}  // namespace tilecast::hwdesc
