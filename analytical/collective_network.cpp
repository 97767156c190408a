#include "analytical/collective_network.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilecast::analytical {
namespace {

constexpr double kMaxSide = 1 << 16;  // bounds the search for divisors

// Sides of a torus as square as the divisors of `chips` allow, smallest first.
std::vector<std::int64_t> torus_dims(std::int64_t chips, int dimensions) {
  std::vector<std::int64_t> dims;
  for (int left = dimensions; left > 1; --left) {
    const double side = std::pow(static_cast<double>(chips), 1.0 / left);
    auto divisor = static_cast<std::int64_t>(std::clamp(std::floor(side + 1e-9), 1.0, kMaxSide));
    while (chips % divisor != 0) --divisor;
    dims.push_back(divisor);
    chips /= divisor;
  }
  dims.push_back(chips);
  return dims;
}

int dimensions_of(const hwdesc::Interconnect& net) {
  const int dimensions = net.topology == "ring"      ? 1
                         : net.topology == "torus2d" ? 2
                         : net.topology == "torus3d" ? 3
                                                     : 0;
  if (dimensions == 0) {
    throw Error("device interconnect.topology: got \"" + net.topology +
                "\", expected ring, torus2d, torus3d or switch");
  }
  return dimensions;
}

double sustained_egress(const hwdesc::Interconnect& net) {
  return net.link_bandwidth.value * net.efficiency * net.links;
}

Network switch_network(const hwdesc::Interconnect& net, std::int64_t chips) {
  Network n;
  n.link = net.link_bandwidth.value * net.efficiency;
  n.shape = net.topology;
  n.egress = sustained_egress(net);
  n.in_rings = static_cast<double>(chips);
  n.steps = std::ceil(std::log2(static_cast<double>(chips)));
  return n;
}

// Rings work in parallel, so the slowest sets their pace.
Network mesh_network(const hwdesc::Interconnect& net, std::vector<Side> sides) {
  Network n;
  n.link = net.link_bandwidth.value * net.efficiency;
  n.ring_egress = sustained_egress(net) / dimensions_of(net);
  n.line_egress = n.slowest_line = n.ring_egress / 2;
  double slowest_ring = n.ring_egress;
  for (const Side& side : sides) {
    const auto stride = static_cast<double>(side.stride);
    if (side.is_ring) slowest_ring = std::min(slowest_ring, n.ring_egress / stride);
    if (!side.is_ring) n.slowest_line = std::min(n.slowest_line, n.line_egress / stride);
  }
  for (const Side& side : sides) {
    const auto steps = static_cast<double>(side.chips - 1);
    n.steps += steps;
    n.far_hops += steps * static_cast<double>(side.stride - 1);
    (side.is_ring ? n.in_rings : n.in_lines) *= static_cast<double>(side.chips);
    if (side.is_ring) n.egress += slowest_ring;
  }
  n.sides = std::move(sides);
  return n;
}

// Seconds of an all-gather: all rings in parallel, then the lines.
double gather_s(const Network& n, double bytes) {
  const double rings = n.in_rings > 1 ? bytes * (1 - 1 / n.in_rings) / n.egress : 0;
  const double left = bytes / n.in_rings;
  return rings + (n.in_lines > 1 ? left * (1 - 1 / n.in_lines) / n.slowest_line : 0);
}

// Every byte passes the slowest dimension.
double broadcast_s(const Network& n, double bytes) {
  return std::max(n.in_rings > 1 ? bytes / n.egress : 0,
                  n.in_lines > 1 ? bytes / n.slowest_line : 0);
}

// Seconds the busiest link of a uniform all-to-all is busy.
double all_to_all_s(const Network& n, double bytes, double share) {
  if (n.sides.empty()) return bytes * share / n.egress;
  double slowest = n.in_lines > 1 ? bytes * share / n.slowest_line : 0;
  for (const Side& side : n.sides) {
    const auto d = static_cast<double>(side.chips);
    const double egress = side.is_ring ? n.ring_egress : n.line_egress;
    slowest = std::max(
        slowest, bytes * std::floor(d * d / 4) / d / (egress / static_cast<double>(side.stride)));
  }
  return slowest;
}

// Cost between slices: [TRG] on a switch. Each chip holds 1 / chips of what its slice shares.
AlphaBeta across_slices(Pattern pattern, double bytes, const Place& place, const Network& n) {
  const double share = 1 - 1 / static_cast<double>(place.slices);
  const double part = bytes / static_cast<double>(place.chips);
  const double steps = std::ceil(std::log2(static_cast<double>(place.slices)));
  switch (pattern) {
    case Pattern::kAllReduce:
      return {.bandwidth_s = 2 * part * share / n.to_network, .network_hops = 2 * steps};
    case Pattern::kAllToAll:
      return {.bandwidth_s = bytes * share / n.to_network, .network_hops = 1};
    case Pattern::kBroadcast:
      return {.bandwidth_s = part / n.to_network, .network_hops = steps};
    default:
      return {.bandwidth_s = part * share / n.to_network, .network_hops = steps};
  }
}

// A one-directional ring over the chips in order; see Place::odd.
AlphaBeta odd_cost(Pattern pattern, double bytes, const Place& place, const Network& n) {
  const auto c = static_cast<double>(place.chips);
  const Routes& routes = *place.odd;
  const double link = n.sides.empty() ? n.egress : n.line_egress;
  double seconds_per_byte = routes.link_load / link;
  if (routes.network_load > 0) {
    seconds_per_byte = std::max(seconds_per_byte, routes.network_load / n.to_network);
  }
  const double rounds = pattern == Pattern::kAllReduce   ? 2 * (c - 1) / c
                        : pattern == Pattern::kAllToAll  ? (c - 1) / 2
                        : pattern == Pattern::kBroadcast ? 1
                                                         : (c - 1) / c;
  const double steps = (pattern == Pattern::kAllReduce ? 2 : 1) * (c - 1);
  return {.bandwidth_s = bytes * rounds * seconds_per_byte,
          .hops = steps,
          .far_hops = steps * static_cast<double>(std::max<std::int64_t>(0, routes.hops - 1)),
          .network_hops = routes.network_load > 0 ? steps : 0};
}

}  // namespace

Network network_of(const hwdesc::Interconnect& net, std::int64_t chips) {
  if (net.topology == "switch") return switch_network(net, chips);
  std::vector<Side> sides;
  const std::int64_t wraps_from = std::max(3, net.wraps_from);
  std::string shape = net.topology;
  for (const std::int64_t dim : torus_dims(chips, dimensions_of(net))) {
    shape += (sides.empty() ? " " : "x") + std::to_string(dim);
    sides.push_back({.chips = dim, .is_ring = dim >= wraps_from});
  }
  Network n = mesh_network(net, std::move(sides));
  n.shape = std::move(shape);
  return n;
}

Network network_of(const hwdesc::Device& device, const Place& place) {
  const hwdesc::Interconnect& net = *device.interconnect;
  const bool is_switch = net.topology == "switch";
  std::vector<Side> sides = place.sides;
  if (sides.empty()) sides.push_back({.chips = place.chips});
  Network n = is_switch ? switch_network(net, place.chips) : mesh_network(net, std::move(sides));
  const double chips_per_host =
      std::max(1.0, static_cast<double>(net.devices_per_host) / std::max(1, device.cores_per_chip));
  if (net.slice->network_bandwidth) {
    n.to_network = net.slice->network_bandwidth->value / chips_per_host;
  }
  n.shape = describe(place, device);
  return n;
}

AlphaBeta alpha_beta(Pattern pattern, double bytes, std::int64_t chips, const Network& n) {
  const double share = 1 - 1 / static_cast<double>(chips);
  const double half_way = n.sides.empty() ? 1 : std::max(1.0, std::ceil(n.steps / 2));
  switch (pattern) {
    case Pattern::kAllReduce:
      return {2 * gather_s(n, bytes), 2 * n.steps};
    case Pattern::kAllGather:
    case Pattern::kReduceScatter:
      return {gather_s(n, bytes), n.steps};
    case Pattern::kAllToAll:
      return {all_to_all_s(n, bytes, share), half_way};
    case Pattern::kBroadcast:
      return {broadcast_s(n, bytes), n.sides.empty() ? n.steps : half_way};
    case Pattern::kPermute:
      return {bytes / (n.sides.empty() ? n.egress : n.link), 1};
  }
  return {};
}

AlphaBeta alpha_beta(Pattern pattern, double bytes, const Place& place, const Network& n) {
  if (place.odd) return odd_cost(pattern, bytes, place, n);
  AlphaBeta cost;
  if (place.chips > 1) {
    cost = alpha_beta(pattern, bytes, place.chips, n);
    if (pattern == Pattern::kBroadcast && place.slices > 1) {  // scattered first, gathered last
      cost = {.bandwidth_s = 2 * gather_s(n, bytes), .hops = 2 * n.steps};
    }
    if (n.steps > 0) cost.far_hops = cost.hops / n.steps * n.far_hops;
  }
  if (place.slices > 1) {
    const AlphaBeta across = across_slices(pattern, bytes, place, n);
    cost.bandwidth_s += across.bandwidth_s;
    cost.network_hops = across.network_hops;
  }
  return cost;
}

AlphaBeta permute_cost(double bytes, const PermutePlace& place, const Network& n) {
  const Routes& routes = place.routes;
  AlphaBeta cost;
  if (routes.link_load > 0) {
    const double link = n.sides.empty() ? n.egress : n.link;
    cost = {.bandwidth_s = bytes * routes.link_load / link,
            .hops = 1,
            .far_hops = static_cast<double>(routes.hops - 1)};
  }
  if (routes.network_load > 0) {
    cost.bandwidth_s = std::max(cost.bandwidth_s, bytes * routes.network_load / n.to_network);
    cost.network_hops = 1;
  }
  return cost;
}

}  // namespace tilecast::analytical
