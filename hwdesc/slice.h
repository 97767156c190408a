// A slice: chips joined by the links of an interconnect; several slices may be joined by a slower
// network (TPU slices over a data-centre network; on GPUs a slice is a node, `count` the nodes).
//
//   interconnect.slice: {shape: 4x4x8, wraps: ring ring line, count: 2,
//                        network_bandwidth: 25 GB/s, network_latency: 10 us}
//
// Device d of a program is core d % cores of chip d / cores; chips are numbered along the shape,
// the last dimension fastest, one slice after the other. Read by hwdesc/device_yaml.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/units.h"

namespace tilecast::hwdesc {

struct Slice {
  std::string shape;  // "4x4x8": chips along each dimension, at most as many as the topology has
  std::string wraps;  // "ring ring line", a word per dimension; empty: by wraps_from
  int count = 1;      // slices
  std::optional<BytesPerSecond> network_bandwidth;  // sustained, per host, one way
  Seconds network_latency;                          // per message to another slice
  std::string source;                               // where the network's numbers come from
};

// Throw Error (without position) for a malformed shape, or unless there is a word per dimension.
[[nodiscard]] std::vector<std::int64_t> slice_shape(std::string_view shape);
[[nodiscard]] std::vector<bool> slice_rings(std::string_view wraps, std::size_t dimensions);

}  // namespace tilecast::hwdesc
