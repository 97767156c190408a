// A slice: chips joined by the links of an interconnect, and how many of them a slower network
// joins (TPU slices over a data-centre network; on GPUs a node is the slice, nodes the count).
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
  std::string wraps;  // "ring ring line", a word a dimension; empty: by the topology's wraps_from
  int count = 1;      // slices
  std::optional<BytesPerSecond> network_bandwidth;  // sustained, of a host, one way
  Seconds network_latency;                          // of a message to another slice
  std::string source;                               // where the network's numbers come from
};

// Throw Error without position for what is no shape, or is not a word for each of `dimensions`.
[[nodiscard]] std::vector<std::int64_t> slice_shape(std::string_view shape);
[[nodiscard]] std::vector<bool> slice_rings(std::string_view wraps, std::size_t dimensions);

}  // namespace tilecast::hwdesc
