#include "analytical/collective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analytical/library_collective.h"
#include "analytical/slice_groups.h"
#include "analytical/transfer.h"
#include "base/error.h"

namespace tilecast::analytical {
namespace {

using ir::Exchange;
using ir::Opcode;

// Alpha-beta costs on a network of chips: bytes on the busiest link, and steps.

struct Network {
  std::vector<Side> sides;    // one for a ring; empty if chips reach each other directly
  std::vector<double> rates;  // of each side, bytes per second
  double egress = 0;          // per chip, all dimensions at once, or the switch
  double link = 0;
  double steps = 0;
  double longest = 1;     // hops of the longest way
  double phases = 1;      // dimensions in use
  double far_hops = 0;    // links passed beyond one per step
  double to_network = 0;  // per chip, to other slices
  std::string shape;
};

struct AlphaBeta {
  double bandwidth_s = 0;
  double hops = 0;          // steps within a slice
  double starts = 0;        // phases that begin with one
  double far_hops = 0;      // links passed beyond one per step
  double network_hops = 0;  // messages to other slices, one after another
  double library_s = 0;     // fixed time of a library
};

int dimensions_of(const hwdesc::Interconnect& net) {
  const int dimensions = net.topology == "ring"      ? 1
                         : net.topology == "torus2d" ? 2
                         : net.topology == "torus3d" ? 3
                                                     : 0;
  if (dimensions == 0) {
    throw Error("device interconnect.topology: got \"" + net.topology +
                "\", expected ring, torus2d, torus3d, switch or mesh");
  }
  return dimensions;
}

Network direct_network(const hwdesc::Interconnect& net, std::int64_t chips) {
  const auto c = static_cast<double>(chips);
  Network n;
  n.link = net.link_bandwidth.value * net.efficiency;
  n.shape = net.topology;
  n.egress =
      n.link * (net.topology == "mesh" ? std::clamp(c - 1, 1.0, 1.0 * net.links) : net.links);
  n.steps = std::ceil(std::log2(c));
  return n;
}

Network torus_network(const hwdesc::Interconnect& net, std::vector<Side> sides) {
  Network n;
  n.link = net.link_bandwidth.value * net.efficiency;
  const double one_way = n.link * net.links / dimensions_of(net) / 2;
  double sum = 0, fastest = 0;
  n.longest = n.phases = 0;
  for (const Side& side : sides) {
    const auto chips = static_cast<double>(side.chips), stride = static_cast<double>(side.stride);
    const double rate = (side.is_ring ? 2 : 1) * one_way / stride;
    n.rates.push_back(rate);
    n.steps += chips - 1;
    n.far_hops += (chips - 1) * (stride - 1);
    n.longest += side.is_ring ? std::floor(chips / 2) : chips - 1;
    if (side.chips < 2) continue;
    ++n.phases;
    sum += rate;
    fastest = std::max(fastest, rate);
  }
  n.egress = std::max(fastest, sum * net.axes_efficiency);
  n.sides = std::move(sides);
  return n;
}

double gather_s(const Network& n, double bytes, double chips) {
  return bytes * (1 - 1 / chips) / n.egress;
}

// Seconds that a uniform all-to-all takes over one dimension after another, each at its bisection.
double all_to_all_s(const Network& n, double bytes, double share) {
  if (n.sides.empty()) return bytes * share / n.egress;
  double sum = 0;
  for (std::size_t i = 0; i < n.sides.size(); ++i) {
    const auto d = static_cast<double>(n.sides[i].chips);
    sum += bytes * std::floor(d * d / 4) / d / n.rates[i];
  }
  return sum;
}

// Cost between slices: [TRG] on a switch. Each chip holds 1 / chips of what its slice shares.
AlphaBeta across_slices(Exchange pattern, double bytes, const Place& place, const Network& n) {
  if (pattern == Exchange::kPermute) {
    return {.bandwidth_s = bytes / n.to_network, .network_hops = 1};
  }
  const double share = 1 - 1 / static_cast<double>(place.slices);
  const double part = bytes / static_cast<double>(place.chips);
  const double steps = std::ceil(std::log2(static_cast<double>(place.slices)));
  switch (pattern) {
    case Exchange::kAllReduce:
      return {.bandwidth_s = 2 * part * share / n.to_network, .network_hops = 2 * steps};
    case Exchange::kAllToAll:
      return {.bandwidth_s = bytes * share / n.to_network, .network_hops = 1};
    case Exchange::kBroadcast:
      return {.bandwidth_s = part / n.to_network, .network_hops = steps};
    default:
      return {.bandwidth_s = part * share / n.to_network, .network_hops = steps};
  }
}

// A one-directional ring over the chips in order; see Place::odd.
AlphaBeta odd_cost(Exchange pattern, double bytes, const Place& place, const Network& n) {
  const auto c = static_cast<double>(place.chips);
  const Routes& routes = *place.odd;
  const double link = n.sides.empty() ? n.egress : n.link;
  double seconds_per_byte = routes.link_load / link;
  if (routes.network_load > 0) {
    seconds_per_byte = std::max(seconds_per_byte, routes.network_load / n.to_network);
  }
  const double rounds = pattern == Exchange::kAllReduce   ? 2 * (c - 1) / c
                        : pattern == Exchange::kAllToAll  ? (c - 1) / 2
                        : pattern == Exchange::kBroadcast ? 1
                                                          : (c - 1) / c;
  const double steps = (pattern == Exchange::kAllReduce ? 2 : 1) * (c - 1);
  return {.bandwidth_s = bytes * rounds * seconds_per_byte,
          .hops = steps,
          .starts = 1,
          .far_hops = steps * static_cast<double>(std::max<std::int64_t>(0, routes.hops - 1)),
          .network_hops = routes.network_load > 0 ? steps : 0};
}

// A torus as square as the divisors of `chips` allow, or the switch. Throws Error for an unknown
// topology.
Network network_of(const hwdesc::Interconnect& net, std::int64_t chips) {
  if (hwdesc::is_direct(net.topology)) {
    Network n = direct_network(net, chips);
    n.shape += " of " + std::to_string(chips);
    return n;
  }
  std::vector<Side> sides;
  const std::vector<std::int64_t> dims = hwdesc::squarest(chips, dimensions_of(net));
  const std::vector<bool> rings = hwdesc::wrapped(dims, net.wraps_from);
  std::string shape = net.topology;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    shape += (i == 0 ? " " : "x") + std::to_string(dims[i]);
    sides.push_back({.chips = dims[i], .is_ring = rings[i]});
  }
  Network n = torus_network(net, std::move(sides));
  n.shape = std::move(shape);
  return n;
}

// A chip's share of its host's network to other slices; 0 if none is described.
double share_of_network(const hwdesc::Device& device) {
  const hwdesc::Interconnect& net = *device.interconnect;
  const auto& host = net.slice ? net.slice->network_bandwidth : net.network_bandwidth;
  return host ? host->value * std::max(1, device.cores_per_chip) /
                    std::max(net.devices_per_host, device.cores_per_chip)
              : 0;
}

std::string host_rate(const hwdesc::Device& device) {
  const hwdesc::Interconnect& net = *device.interconnect;
  const auto& host = net.slice ? net.slice->network_bandwidth : net.network_bandwidth;
  return hwdesc::format_quantity(host ? host->value : 0, hwdesc::UnitKind::kBandwidth) + " a host";
}

// The part of the slices that a group occupies.
Network network_of(const hwdesc::Device& device, const Place& place) {
  const hwdesc::Interconnect& net = *device.interconnect;
  std::vector<Side> sides = place.sides;
  if (sides.empty()) sides.push_back({.chips = place.chips});
  Network n = hwdesc::is_direct(net.topology) ? direct_network(net, place.chips)
                                              : torus_network(net, std::move(sides));
  n.to_network = share_of_network(device);
  n.shape = describe(place, device);
  if (place.slices > 1) n.shape += " at " + host_rate(device);
  return n;
}

// Cost over `chips` chips of one slice; `bytes`: sent or shared by one chip.
AlphaBeta alpha_beta(Exchange pattern, double bytes, double chips, const Network& n) {
  const double share = 1 - 1 / chips;
  const double half_way = n.sides.empty() ? 1 : std::max(1.0, std::ceil(n.steps / 2));
  switch (pattern) {
    case Exchange::kAllReduce:
      return {2 * gather_s(n, bytes, chips), 2 * n.steps, 2 * n.phases};
    case Exchange::kAllGather:
    case Exchange::kReduceScatter:
      return {gather_s(n, bytes, chips), n.steps, n.phases};
    case Exchange::kAllToAll:
      return {all_to_all_s(n, bytes, share), half_way, 1};
    case Exchange::kBroadcast:
      return {bytes / n.egress, n.sides.empty() ? n.steps : half_way, n.phases};
    case Exchange::kPermute:
      return {bytes / (n.sides.empty() ? n.egress : n.link), 1, 1};
    case Exchange::kNone:
      break;
  }
  return {};
}

// Memory is read before a hop and written after it.
double step_s(const hwdesc::Interconnect& net, const MemoryPath& memory) {
  return net.latency.value + 2 * memory.latency_s;
}

// Everything to everybody at once; nullopt for other patterns.
std::optional<AlphaBeta> sent_directly(Exchange pattern, double bytes, double chips,
                                       const Network& n) {
  const bool sums = pattern == Exchange::kAllReduce;
  if (n.sides.empty() ||
      !(sums || pattern == Exchange::kAllGather || pattern == Exchange::kReduceScatter)) {
    return std::nullopt;
  }
  return AlphaBeta{all_to_all_s(n, sums ? bytes * chips : bytes, 1 - 1 / chips), n.longest, 1};
}

// What a collective does, beside where.
struct Crossing {
  Opcode opcode = Opcode::kAllReduce;
  Bytes payload;
  bool in_switch = true;  // a switch can do its sums
};

// Cost within one slice.
AlphaBeta inside_slice(Exchange pattern, double bytes, double chips, bool in_switch,
                       const Network& n, const hwdesc::Device& device) {
  const hwdesc::Interconnect& net = *device.interconnect;
  const MemoryPath memory = memory_path(device.main_memory());
  if (net.library && n.sides.empty()) {
    const LibraryTime time = library_time(pattern, bytes,
                                          {.library = *net.library,
                                           .chips = chips,
                                           .egress = n.egress,
                                           .copied = memory.read,
                                           .in_switch = in_switch});
    return {.bandwidth_s = time.bandwidth_s, .library_s = time.fixed_s};
  }
  const AlphaBeta phased = alpha_beta(pattern, bytes, chips, n);
  const auto direct = sent_directly(pattern, bytes, chips, n);
  const double far = n.steps > 0 ? n.far_hops / n.steps : 0;
  const double step = step_s(net, memory) + far * net.latency.value;
  const auto total = [&](const AlphaBeta& cost) {
    return cost.bandwidth_s + cost.starts * net.start.value + cost.hops * step;
  };
  return direct && total(*direct) < total(phased) ? *direct : phased;
}

// Cost within and across slices.
AlphaBeta alpha_beta(Exchange pattern, double bytes, bool in_switch, const Place& place,
                     const Network& n, const hwdesc::Device& device) {
  if (place.odd) return odd_cost(pattern, bytes, place, n);
  AlphaBeta cost;
  const auto chips = static_cast<double>(place.chips);
  if (place.chips > 1) {
    const bool two_parts = pattern == Exchange::kBroadcast && place.slices > 1;
    // Scattered first, gathered last.
    cost = inside_slice(two_parts ? Exchange::kAllReduce : pattern, bytes, chips,
                        in_switch && !two_parts && place.slices == 1, n, device);
    if (n.steps > 0) cost.far_hops = cost.hops / n.steps * n.far_hops;
  }
  if (place.slices > 1) {
    const AlphaBeta across = across_slices(pattern, bytes, place, n);
    cost.bandwidth_s += across.bandwidth_s;
    cost.network_hops = across.network_hops;
  }
  // The cores of a chip exchange first, and after the sums of an all-reduce.
  if (place.cores > 1) cost.starts += pattern == Exchange::kAllReduce ? 2 : 1;
  return cost;
}

// `bytes`: per message.
AlphaBeta permute_cost(double bytes, const PermutePlace& place, const Network& n) {
  const Routes& routes = place.routes;
  AlphaBeta cost;
  if (routes.link_load > 0) {
    const double link = n.sides.empty() ? n.egress : n.link;
    cost = {.bandwidth_s = bytes * routes.link_load / link,
            .hops = 1,
            .starts = 1,
            .far_hops = static_cast<double>(routes.hops - 1)};
  }
  if (routes.network_load > 0) {
    cost.bandwidth_s = std::max(cost.bandwidth_s, bytes * routes.network_load / n.to_network);
    cost.network_hops = 1;
  }
  return cost;
}

// Collectives on that network.

std::optional<Exchange> pattern_of(Opcode opcode) {
  if (ir::op_class(opcode) != ir::OpClass::kCollective) return std::nullopt;
  return ir::info(opcode).exchange;
}

Exchange require_pattern(Opcode opcode) {
  const auto pattern = pattern_of(opcode);
  if (!pattern) {
    throw Error("collective: got opcode " + std::string(ir::name(opcode)) +
                ", expected one that crosses devices");
  }
  return *pattern;
}

// A group that fills chips one after the other, on no described slice.
Place compact_place(std::int64_t devices, const hwdesc::Device& device) {
  const std::int64_t cores =
      std::clamp<std::int64_t>(devices, 1, std::max(1, device.cores_per_chip));
  return {.devices = devices,
          .cores = static_cast<double>(cores),
          .chips = devices < 1 ? 1 : (devices - 1) / cores + 1};
}

// Bytes that one chip sends or shares, P in the header.
double chip_payload(Exchange pattern, Bytes payload, double cores) {
  const bool shared = pattern != Exchange::kAllToAll && pattern != Exchange::kPermute;
  return payload.value * (shared ? 1.0 : cores);
}

// Seconds to read operands and write results in main memory.
double local_s(Exchange pattern, double payload, std::int64_t devices, const MemoryPath& memory) {
  const double part = payload / static_cast<double>(std::max<std::int64_t>(1, devices));
  const double read = pattern == Exchange::kAllGather ? part : payload;
  const double write = pattern == Exchange::kReduceScatter ? part : payload;
  return memory.busy_s(read / memory.read, write / memory.write);
}

std::string plain_name(Opcode opcode) {
  return std::string(ir::name(ir::info(opcode).plain));
}

using Ids = std::vector<std::int64_t>;

bool has_slice(const hwdesc::Device& device) {
  return device.interconnect && device.interconnect->slice;
}

void require_links(Opcode opcode, std::int64_t group_size, const hwdesc::Device& device) {
  if (device.interconnect && device.interconnect->links >= 1 &&
      device.interconnect->link_bandwidth.value > 0) {
    return;
  }
  throw Error("device " + device.name + ": interconnect: got none with links, expected one for " +
              plain_name(opcode) + " over " + std::to_string(group_size) +
              " devices; add an interconnect block to the device file");
}

// Time spent in main memory.
struct MemoryPart {
  MemoryPath path;
  double local = 0;     // operands and results
  double exchange = 0;  // between the cores of a chip, beforehand
};

MemoryPart memory_part(Exchange pattern, Bytes payload, std::int64_t devices, double cores,
                       const hwdesc::Device& device) {
  if (device.memory.empty()) {
    throw Error("device " + device.name + ": memory: got no level, expected main memory");
  }
  const MemoryPath memory = memory_path(device.main_memory());
  return {memory, local_s(pattern, payload.value, devices, memory),
          cores > 1 ? payload.value / memory.read : 0};
}

// `cost` is nullopt within one chip.
CollectiveTime assembled(const MemoryPart& memory, const std::optional<AlphaBeta>& cost,
                         const hwdesc::Device& device, std::string algorithm) {
  CollectiveTime result;
  PipelineLoop loop{.path_s = memory.exchange + memory.local};
  if (cost) {
    const hwdesc::Interconnect& net = *device.interconnect;
    loop.path_s = memory.exchange + std::max(memory.local, cost->bandwidth_s);
    result.latency_part = Seconds{step_s(net, memory.path) * cost->hops +
                                  net.start.value * cost->starts + cost->library_s};
    if (net.slice) {
      const double to_slice = net.slice->network_latency.value + 2 * memory.path.latency_s;
      result.latency_part +=
          Seconds{net.latency.value * cost->far_hops + to_slice * cost->network_hops};
    }
  }
  result.bandwidth_part = Seconds{steady_period_s(loop)};
  result.time = result.bandwidth_part + result.latency_part;
  result.algorithm = std::move(algorithm);
  return result;
}

// By the host: to its memory, or on to other slices. The rate there is that from chip to chip, so
// that who receives only waits for the end.
CollectiveTime host_transfer_time(const ir::Kernel& kernel, const ir::CollectiveAttrs& transfer,
                                  const hwdesc::Device& device) {
  const std::string name = plain_name(kernel.opcode());
  if (!device.host_link) {
    throw Error(name + ": device " + device.name + " describes no host_link, which it uses");
  }
  const Bytes bytes = collective_payload(kernel, PayloadSize::kPadded);
  CollectiveTime result{.bandwidth_part = bytes / device.host_link->bandwidth,
                        .latency_part = device.host_link->latency,
                        .algorithm = name + " by the host"};
  if (transfer.slices > 1) {
    Network network;
    if (device.interconnect) network.to_network = share_of_network(device);
    if (!(network.to_network > 0)) {
      throw Error(name + " between slices: device " + device.name +
                  " describes no interconnect.network_bandwidth, that of a host");
    }
    result.algorithm =
        name + " between " + std::to_string(transfer.slices) + " slices at " + host_rate(device);
    if (kernel.opcode() == Opcode::kRecv) {
      result.bandwidth_part = Seconds{0};
    } else {
      const bool gathers = transfer.over_slices == Exchange::kAllGather;
      const AlphaBeta across = across_slices(
          transfer.over_slices, bytes.value * (gathers ? static_cast<double>(transfer.slices) : 1),
          Place{.slices = transfer.slices}, network);
      const hwdesc::Interconnect& net = *device.interconnect;
      const Seconds hop = net.slice ? net.slice->network_latency : net.network_latency;
      result.bandwidth_part = std::max(result.bandwidth_part, Seconds{across.bandwidth_s});
      result.latency_part += hop * across.network_hops;
    }
  }
  result.time = result.bandwidth_part + result.latency_part;
  return result;
}

std::string inside_chip(Opcode opcode, std::int64_t devices) {
  return devices <= 1 ? "local" : plain_name(opcode) + " inside one chip";
}

CollectiveTime time_at(const Crossing& crossing, const Place& place, const hwdesc::Device& device,
                       bool on_slice) {
  const auto& [opcode, payload, in_switch] = crossing;
  const Exchange pattern = require_pattern(opcode);
  const MemoryPart memory = memory_part(pattern, payload, place.devices, place.cores, device);
  if (place.chips * place.slices <= 1) {
    return assembled(memory, std::nullopt, device, inside_chip(opcode, place.devices));
  }
  require_links(opcode, place.devices, device);
  const Network network =
      on_slice ? network_of(device, place) : network_of(*device.interconnect, place.chips);
  // The chip's other cores belong to other groups on the same links.
  const double groups = std::max(1.0, std::max(1, device.cores_per_chip) / place.cores);
  const double bytes = groups * chip_payload(pattern, payload, place.cores);
  return assembled(memory, alpha_beta(pattern, bytes, in_switch, place, network, device), device,
                   plain_name(opcode) + " on " + network.shape);
}

CollectiveTime slowest_group(const Crossing& crossing, const std::vector<Ids>& groups,
                             const hwdesc::Device& device) {
  CollectiveTime slowest;
  for (const Place& place : place_groups(device, groups)) {
    CollectiveTime time = time_at(crossing, place, device, /*on_slice=*/true);
    if (slowest.algorithm.empty() || time.time > slowest.time) slowest = std::move(time);
  }
  return slowest;
}

CollectiveTime permute_time(Opcode opcode, Bytes payload, const PermutePlace& place,
                            const hwdesc::Device& device) {
  const MemoryPart memory =
      memory_part(Exchange::kPermute, payload, place.devices, place.cores, device);
  if (!place.leaves_chip) {
    return assembled(memory, std::nullopt, device, inside_chip(opcode, place.devices));
  }
  require_links(opcode, place.devices, device);
  const hwdesc::Interconnect& net = *device.interconnect;
  const Network network = network_of(device, Place{.chips = 2});
  std::string algorithm = plain_name(opcode) + " on " + net.topology + " " + net.slice->shape;
  const auto number = [](double value) { return std::to_string(std::llround(value)); };
  algorithm += ": " + std::to_string(place.routes.hops) + " hops at most, " +
               number(place.routes.link_load) + " messages on the busiest link";
  if (place.routes.network_load > 0) {
    algorithm += ", " + number(place.routes.network_load) + " from a chip to other slices";
  }
  return assembled(memory, permute_cost(payload.value, place, network), device,
                   std::move(algorithm));
}

// Send and receive name no devices: assumed to reach a neighbour.
bool is_to_neighbour(Opcode opcode) {
  return ir::has(opcode, ir::Trait::kNeighbour);
}

// Switches add floats of 16 bits or more.
bool sums_in_switch(const ir::Kernel& kernel) {
  const ir::Op* op = collective_op(kernel);
  return op == nullptr || !op->shape.is_array() ||
         (ir::is_floating(op->shape.dtype) && ir::bits(op->shape.dtype) >= 16);
}

CollectiveTime time_of_group(const Crossing& crossing, std::int64_t group_size,
                             const hwdesc::Device& device) {
  const Exchange pattern = require_pattern(crossing.opcode);
  if (has_slice(device) && pattern != Exchange::kPermute) {
    return slowest_group(crossing, first_devices(device, group_size), device);
  }
  const Place place = compact_place(group_size, device);
  CollectiveTime time = time_at(crossing, place, device, /*on_slice=*/false);
  if (has_slice(device) && place.chips > 1) {
    time.algorithm += ", to a neighbour: the program does not say to whom";
  }
  return time;
}

}  // namespace

CollectiveTime collective_time(Opcode opcode, Bytes payload, std::int64_t group_size,
                               const hwdesc::Device& device) {
  return time_of_group({opcode, payload}, group_size, device);
}

CollectiveTime collective_time(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (const std::optional<Seconds> end = running_collective_end(kernel, device)) {
    return {*end, Seconds{0}, *end, "end of a collective that earlier kernels ran beside"};
  }
  if (const ir::CollectiveAttrs* transfer = host_transfer(kernel)) {
    return host_transfer_time(kernel, *transfer, device);
  }
  const Opcode opcode = crossing_opcode(kernel);
  const Crossing crossing{opcode, collective_payload(kernel, PayloadSize::kPadded),
                          sums_in_switch(kernel)};
  const ir::DeviceGroups& devices = kernel.device_groups();
  if (has_slice(device) && !is_to_neighbour(opcode)) {
    if (!devices.pairs.empty()) {
      return permute_time(opcode, crossing.payload, place_pairs(device, devices.pairs), device);
    }
    if (!devices.groups.empty()) return slowest_group(crossing, devices.groups, device);
  }
  return time_of_group(crossing, kernel.group_size(), device);
}

namespace {

// The share of a chip's payload that must leave it.
double sent_share(Exchange pattern, double chips, const hwdesc::Device& device) {
  const bool whole = pattern == Exchange::kBroadcast || pattern == Exchange::kPermute;
  const auto& library = device.interconnect->library;
  if (pattern == Exchange::kAllReduce && library && library->multicast > 0) {
    return std::min(1 + 1 / chips, 2 - 2 / chips);
  }
  return (pattern == Exchange::kAllReduce ? 2 : 1) * (whole ? 1 : 1 - 1 / chips);
}

double all_links(const hwdesc::Device& device) {
  return device.interconnect->link_bandwidth.value * device.interconnect->links;
}

// Lower bound for one group on a slice; a chip's share of the network adds to its links if the
// group crosses slices.
Seconds bound_at(Exchange pattern, Bytes payload, const Place& place,
                 const hwdesc::Device& device) {
  const std::int64_t chips = place.chips * place.slices;
  if (chips <= 1) return Seconds{0};
  const bool crosses = place.slices > 1 || (place.odd && place.odd->network_load > 0);
  const double egress = all_links(device) + (crosses ? network_of(device, place).to_network : 0);
  if (!(egress > 0)) return Seconds{0};
  const double cores = place.odd ? 1 : place.cores;
  return Seconds{sent_share(pattern, static_cast<double>(chips), device) *
                 chip_payload(pattern, payload, cores) / egress};
}

Seconds slice_bound(Exchange pattern, Bytes payload, const std::vector<Ids>& groups,
                    const hwdesc::Device& device) {
  Seconds bound;
  for (const Place& place : place_groups(device, groups)) {
    bound = std::max(bound, bound_at(pattern, payload, place, device));
  }
  return bound;
}

}  // namespace

Seconds collective_lower_bound(Opcode opcode, Bytes payload, std::int64_t group_size,
                               const hwdesc::Device& device) {
  const Exchange pattern = require_pattern(opcode);
  if (has_slice(device) && pattern != Exchange::kPermute) {
    return slice_bound(pattern, payload, first_devices(device, group_size), device);
  }
  if (!device.interconnect) return Seconds{0};
  return bound_at(pattern, payload, compact_place(group_size, device), device);
}

Seconds collective_lower_bound(const ir::Kernel& kernel, PayloadSize size,
                               const hwdesc::Device& device) {
  if (const ir::CollectiveAttrs* transfer = host_transfer(kernel)) {
    return host_transfer_time(kernel, *transfer, device).bandwidth_part;
  }
  const Opcode opcode = crossing_opcode(kernel);
  const Bytes payload = collective_payload(kernel, size);
  const ir::DeviceGroups& devices = kernel.device_groups();
  if (has_slice(device) && !is_to_neighbour(opcode)) {
    if (!devices.pairs.empty()) {
      const PermutePlace place = place_pairs(device, devices.pairs);
      const Network network = network_of(device, Place{.chips = 2});
      const double egress =
          all_links(device) + (place.routes.network_load > 0 ? network.to_network : 0);
      return place.leaves_chip && egress > 0 ? Seconds{payload.value / egress} : Seconds{0};
    }
    if (!devices.groups.empty()) {
      return slice_bound(require_pattern(opcode), payload, devices.groups, device);
    }
  }
  return collective_lower_bound(opcode, payload, kernel.group_size(), device);
}

const ir::Op* collective_op(const ir::Kernel& kernel) {
  const ir::Op* found = nullptr;
  for (const ir::Op& op : kernel.ops()) {
    if (ir::op_class(op.opcode) == ir::OpClass::kMatrix) return nullptr;
    if (found == nullptr && pattern_of(op.opcode)) found = &op;
  }
  return found;
}

const ir::CollectiveAttrs* host_transfer(const ir::Kernel& kernel) {
  if (!is_to_neighbour(kernel.opcode())) return nullptr;
  const ir::Op* op = collective_op(kernel);
  const auto* attrs = op == nullptr ? nullptr : op->get<ir::CollectiveAttrs>();
  return attrs != nullptr && attrs->is_host_transfer ? attrs : nullptr;
}

Opcode crossing_opcode(const ir::Kernel& kernel) {
  const ir::Op* op = collective_op(kernel);
  if (op == nullptr) return kernel.opcode();
  if (pattern_of(op->opcode) != Exchange::kAllReduce) return op->opcode;
  const auto id = static_cast<std::size_t>(op - kernel.ops().data());
  bool is_sliced = false;
  for (const ir::Op& user : kernel.ops()) {
    for (const ir::OpId operand : user.operands) {
      if (operand.index() != id) continue;
      if (user.opcode != Opcode::kDynamicSlice) return op->opcode;
      is_sliced = true;
    }
  }
  return is_sliced ? Opcode::kReduceScatter : op->opcode;
}

std::optional<Seconds> running_collective_end(const ir::Kernel& kernel,
                                              const hwdesc::Device& device) {
  const bool is_given_flags = std::ranges::any_of(kernel.parameters(), [&](ir::OpId id) {
    return kernel.op(id).shape.memory_space() == kSyncFlags;
  });
  if (!is_given_flags || !device.interconnect || collective_op(kernel) == nullptr) return {};
  return Seconds{step_s(*device.interconnect, memory_path(device.main_memory()))};
}

Bytes collective_payload(const ir::Kernel& kernel, PayloadSize size) {
  const ir::Op* op = collective_op(kernel);
  const Opcode opcode = op == nullptr ? kernel.opcode() : op->opcode;
  const auto bytes_of = [&](std::span<const ir::OpId> ids) {
    double sum = 0;
    for (const ir::OpId id : ids) {
      const ir::Shape& shape = kernel.op(id).shape;
      sum += static_cast<double>(size == PayloadSize::kPadded ? ir::padded_bytes(shape)
                                                              : ir::unpadded_bytes(shape));
    }
    return Bytes{sum};
  };
  const auto pattern = pattern_of(opcode);
  const bool by_result =
      pattern == Exchange::kAllGather || pattern == Exchange::kBroadcast || opcode == Opcode::kRecv;
  if (by_result) return bytes_of(kernel.outputs());
  if (opcode == Opcode::kRaggedAllToAll || opcode == Opcode::kSend) {
    return bytes_of(
        kernel.parameters().first(std::min<std::size_t>(1, kernel.parameters().size())));
  }
  return bytes_of(kernel.parameters());
}

}  // namespace tilecast::analytical
