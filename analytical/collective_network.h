// Alpha-beta costs of collectives on a network of chips: bytes that the busiest link carries, and
// steps. The formulas are those of analytical/collective.h. Internal to analytical.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analytical/slice_groups.h"

namespace tilecast::analytical {

enum class Pattern { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kPermute };

struct Network {
  std::vector<Side> sides;  // one for a ring; empty for a switch
  double egress = 0;        // of one chip, all rings or the switch, bytes per second
  double ring_egress = 0;   // of one ring
  double line_egress = 0;   // of a dimension that does not wrap around
  double slowest_line = 0;  // of those of the group
  double in_rings = 1;      // chips, or on the switch
  double in_lines = 1;
  double link = 0;
  double steps = 0;
  double far_hops = 0;    // links passed in those steps beyond one each
  double to_network = 0;  // of one chip, to other slices
  std::string shape;
};

struct AlphaBeta {
  double bandwidth_s = 0;
  double hops = 0;          // steps within a slice
  double far_hops = 0;      // links passed in them beyond one each
  double network_hops = 0;  // messages to other slices, one after another
};

// A torus as square as the divisors of `chips` allow. Throws Error for an unknown topology.
[[nodiscard]] Network network_of(const hwdesc::Interconnect& net, std::int64_t chips);
// The part of the slices that a group takes.
[[nodiscard]] Network network_of(const hwdesc::Device& device, const Place& place);

// `bytes`: that one chip sends or shares. Of `chips` in one slice:
[[nodiscard]] AlphaBeta alpha_beta(Pattern pattern, double bytes, std::int64_t chips,
                                   const Network& network);
// Within the slices and across them.
[[nodiscard]] AlphaBeta alpha_beta(Pattern pattern, double bytes, const Place& place,
                                   const Network& network);
// `bytes`: of one message.
[[nodiscard]] AlphaBeta permute_cost(double bytes, const PermutePlace& place,
                                     const Network& network);

}  // namespace tilecast::analytical
