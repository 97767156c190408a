// Places the device groups of a collective on a slice (hwdesc/slice.h), and counts the load of its
// links. Internal to analytical.
//
// A group that takes the same evenly spaced coordinates along every dimension (a row, a plane, the
// whole mesh, every 4th chip of a row), on every slice it reaches, is a rectangle: one side per
// dimension. A side that covers a dimension that wraps is a ring, others are lines. With `stride` s
// between its chips, s such groups interleave on the same links, so each has 1/s of their rate.
// Any other group counts as a ring in the order of its ids, each message on the shortest path, one
// dimension after the other; messages on the busiest link are counted over all groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "ir/device_groups.h"

namespace tilecast::analytical {

struct Side {
  std::int64_t chips = 1;
  bool is_ring = false;
  std::int64_t stride = 1;
  friend bool operator==(const Side&, const Side&) = default;
};

struct Routes {             // routes of individual messages
  double link_load = 0;     // messages on the busiest link, one way
  double network_load = 0;  // messages that one chip sends to other slices
  std::int64_t hops = 0;    // on the longest path within a slice
  friend bool operator==(const Routes&, const Routes&) = default;
};

struct Place {
  std::int64_t devices = 1;
  double cores = 1;           // per chip
  std::int64_t chips = 1;     // per slice; all chips if `odd`
  std::int64_t slices = 1;    // 1 if `odd`
  std::vector<Side> sides;    // one per dimension of the shape; none on a switch
  std::optional<Routes> odd;  // set for a group that is not a rectangle
  friend bool operator==(const Place&, const Place&) = default;
};

// Distinct placements of the groups; requires `interconnect.slice`. Throws Error for a device that
// the slices do not have.
[[nodiscard]] std::vector<Place> place_groups(const hwdesc::Device& device,
                                              const std::vector<std::vector<std::int64_t>>& groups);
// Placement of a permute.
struct PermutePlace {
  std::int64_t devices = 1;  // taking part
  double cores = 1;          // at most this many of them on one chip
  bool leaves_chip = false;
  Routes routes;
};
[[nodiscard]] PermutePlace place_pairs(
    const hwdesc::Device& device, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs);
// One group of devices 0 to n - 1.
[[nodiscard]] std::vector<std::vector<std::int64_t>> first_devices(const hwdesc::Device& device,
                                                                   std::int64_t n);

// "4x1 of 4x8", "4x8 x 2 slices".
[[nodiscard]] std::string describe(const Place& place, const hwdesc::Device& device);

}  // namespace tilecast::analytical
