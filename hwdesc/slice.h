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
#include <map>
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

// How a GPU library's ring kernels (NCCL, RCCL) move data between the devices of one node, in place
// of the steps of a plain network (analytical/collective.h). Times are those of the library
// alone, memory included.
struct CollectiveLibrary {
  Seconds start;                             // of a collective: launch, first flags
  Seconds ll_step, ll128_step, simple_step;  // per protocol and hop; ll128_step 0: not used
  double ll128_share = 1;                    // of the links' sustained rate; LL has half of it
  Bytes buffer{0};       // all channels: received before the simple protocol passes it on
  double multicast = 0;  // share of that rate that reductions inside the switch sustain; 0: none
  Seconds multicast_start;
  // Share of the rate by devices of a group ("4": more than the entry before, up to 4), where they
  // share a host's bridges; larger groups have the last one.
  std::map<std::string, double> group_share;
  // Not the library: all-reduces of at most so much that a framework (vLLM, SGLang) writes as one
  // kernel, which reads the other GPUs' memory over the links; 0: none. Its launch and first
  // barrier, more for each other GPU, a second stage, and its share of the links' sustained rate.
  Bytes direct_up_to{0};
  Seconds direct_start, direct_peer, direct_stage;
  double direct_share = 1;
  std::string source;
};

// Whether chips reach each other directly: "switch", or "mesh", where each pair has links.
[[nodiscard]] bool is_direct(std::string_view topology);

// Chips as square as the divisors of their number allow, smallest side first: "4x8" for 32 in two.
[[nodiscard]] std::vector<std::int64_t> squarest(std::int64_t chips, int dimensions);
// Which sides of a torus are rings: at least `wraps_from` chips, in three dimensions of all sides:
// cubes of that size are joined by their faces.
[[nodiscard]] std::vector<bool> wrapped(const std::vector<std::int64_t>& sides, int wraps_from);

// Throw Error (without position) for a malformed shape, or unless there is a word per dimension.
[[nodiscard]] std::vector<std::int64_t> slice_shape(std::string_view shape);
[[nodiscard]] std::vector<bool> slice_rings(std::string_view wraps, std::size_t dimensions);

}  // namespace tilecast::hwdesc
