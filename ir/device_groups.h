// The devices in the groups of a collective, numbered over the whole program.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilecast::ir {

// A device's number is replica x (partitions of the module) + partition (XLA's flattened id). Empty
// if the op is not a collective, names no devices (send, receive), or has more than 65,536 devices
// in all its groups together.
struct DeviceGroups {
  std::vector<std::vector<std::int64_t>> groups;             // in the order written
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // of a permute: source, target

  friend bool operator==(const DeviceGroups&, const DeviceGroups&) = default;
};

}  // namespace tilecast::ir
