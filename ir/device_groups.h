// The devices of the groups of a collective, by their number in the whole program.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilecast::ir {

// A device's number is replica x partitions of the module + partition (XLA's flattened id). Empty
// for what is no collective, for what names no devices (send, receive), and where the groups hold
// more than 65,536 devices in all.
struct DeviceGroups {
  std::vector<std::vector<std::int64_t>> groups;             // in the order written
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // of a permute: source, target

  friend bool operator==(const DeviceGroups&, const DeviceGroups&) = default;
};

}  // namespace tilecast::ir
