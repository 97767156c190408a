// Alpha-beta costs of collectives on a network of chips: bytes on the busiest link, and steps.
// Formulas: analytical/collective.h. Internal to analytical.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analytical/slice_groups.h"

namespace tilecast::analytical {

enum class Pattern { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kPermute };

struct Network {
  std::vector<Side> sides;  // one for a ring; empty for a switch
  double egress = 0;        // per chip, all rings or the switch, bytes per second
  double ring_egress = 0;   // per ring
  double line_egress = 0;   // per dimension that does not wrap around
  double slowest_line = 0;  // among the group's lines
  double in_rings = 1;      // chips in rings, or on the switch
  double in_lines = 1;
  double link = 0;
  double steps = 0;
  double far_hops = 0;    // links passed beyond one per step
  double to_network = 0;  // per chip, to other slices
  std::string shape;
};

struct AlphaBeta {
  double bandwidth_s = 0;
  double hops = 0;          // steps within a slice
  double far_hops = 0;      // links passed beyond one per step
  double network_hops = 0;  // messages to other slices, one after another
};

// A torus as square as the divisors of `chips` allow, or the switch. Throws Error for an unknown
// topology.
[[nodiscard]] Network network_of(const hwdesc::Interconnect& net, std::int64_t chips);
// The part of the slices that a group occupies.
[[nodiscard]] Network network_of(const hwdesc::Device& device, const Place& place);

// `bytes`: sent or shared by one chip. Cost over `chips` chips of one slice:
[[nodiscard]] AlphaBeta alpha_beta(Pattern pattern, double bytes, std::int64_t chips,
                                   const Network& network);
// Cost within and across slices.
[[nodiscard]] AlphaBeta alpha_beta(Pattern pattern, double bytes, const Place& place,
                                   const Network& network);
// `bytes`: per message.
[[nodiscard]] AlphaBeta permute_cost(double bytes, const PermutePlace& place,
                                     const Network& network);

}  // namespace tilecast::analytical
