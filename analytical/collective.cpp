#include "analytical/collective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analytical/collective_network.h"
#include "analytical/distinct_traffic.h"
#include "analytical/transfer.h"
#include "base/error.h"

namespace tilecast::analytical {
namespace {

using ir::Opcode;

std::optional<Pattern> pattern_of(Opcode opcode) {
  if (ir::op_class(opcode) != ir::OpClass::kCollective) return std::nullopt;
  switch (ir::info(opcode).plain) {
    case Opcode::kAllReduce:
      return Pattern::kAllReduce;
    case Opcode::kAllGather:
      return Pattern::kAllGather;
    case Opcode::kReduceScatter:
      return Pattern::kReduceScatter;
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
      return Pattern::kAllToAll;
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:  // a reversed broadcast
      return Pattern::kBroadcast;
    default:  // send and receive, too
      return Pattern::kPermute;
  }
}

Pattern require_pattern(Opcode opcode) {
  const auto pattern = pattern_of(opcode);
  if (!pattern) {
    throw Error("collective: got opcode " + std::string(ir::name(opcode)) +
                ", expected one that crosses devices");
  }
  return *pattern;
}

// How the devices of a group fill chips.
struct DeviceGroup {
  double cores = 1;  // of the group, per chip
  std::int64_t chips = 1;
};

DeviceGroup locate(std::int64_t devices, const hwdesc::Device& device) {
  const std::int64_t cores =
      std::clamp<std::int64_t>(devices, 1, std::max(1, device.cores_per_chip));
  return {static_cast<double>(cores), devices < 1 ? 1 : (devices - 1) / cores + 1};
}

// Bytes that one chip sends or shares, P in the header.
double chip_payload(Pattern pattern, Bytes payload, const DeviceGroup& group) {
  const bool shared = pattern != Pattern::kAllToAll && pattern != Pattern::kPermute;
  return payload.value * (shared ? 1.0 : group.cores);
}

// Seconds to read operands and write results in main memory.
double local_s(Pattern pattern, double payload, std::int64_t devices, const MemoryPath& memory) {
  const double part = payload / static_cast<double>(std::max<std::int64_t>(1, devices));
  const double read = pattern == Pattern::kAllGather ? part : payload;
  const double write = pattern == Pattern::kReduceScatter ? part : payload;
  return memory.busy_s(read / memory.read, write / memory.write);
}

// Memory is read before a hop and written after it.
double step_s(const hwdesc::Interconnect& net, const MemoryPath& memory) {
  return net.latency.value + 2 * memory.latency_s;
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

MemoryPart memory_part(Pattern pattern, Bytes payload, std::int64_t devices, double cores,
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
    result.latency_part = Seconds{step_s(net, memory.path) * cost->hops};
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

std::string inside_chip(Opcode opcode, std::int64_t devices) {
  return devices <= 1 ? "local" : plain_name(opcode) + " inside one chip";
}

CollectiveTime time_at(Opcode opcode, Bytes payload, const Place& place,
                       const hwdesc::Device& device) {
  const Pattern pattern = require_pattern(opcode);
  const MemoryPart memory = memory_part(pattern, payload, place.devices, place.cores, device);
  if (place.chips * place.slices <= 1) {
    return assembled(memory, std::nullopt, device, inside_chip(opcode, place.devices));
  }
  require_links(opcode, place.devices, device);
  const Network network = network_of(device, place);
  // The chip's other cores belong to other groups on the same links.
  const double groups = std::max(1.0, std::max(1, device.cores_per_chip) / place.cores);
  const double bytes =
      groups * chip_payload(pattern, payload, {place.cores, place.chips * place.slices});
  return assembled(memory, alpha_beta(pattern, bytes, place, network), device,
                   plain_name(opcode) + " on " + network.shape);
}

CollectiveTime slowest_group(Opcode opcode, Bytes payload, const std::vector<Ids>& groups,
                             const hwdesc::Device& device) {
  CollectiveTime slowest;
  for (const Place& place : place_groups(device, groups)) {
    CollectiveTime time = time_at(opcode, payload, place, device);
    if (slowest.algorithm.empty() || time.time > slowest.time) slowest = std::move(time);
  }
  return slowest;
}

CollectiveTime permute_time(Opcode opcode, Bytes payload, const PermutePlace& place,
                            const hwdesc::Device& device) {
  const MemoryPart memory =
      memory_part(Pattern::kPermute, payload, place.devices, place.cores, device);
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
  return opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

}  // namespace

CollectiveTime collective_time(Opcode opcode, Bytes payload, std::int64_t group_size,
                               const hwdesc::Device& device) {
  const Pattern pattern = require_pattern(opcode);
  if (has_slice(device) && pattern != Pattern::kPermute) {
    return slowest_group(opcode, payload, first_devices(device, group_size), device);
  }
  const DeviceGroup group = locate(group_size, device);
  const MemoryPart memory = memory_part(pattern, payload, group_size, group.cores, device);
  if (group.chips <= 1) {
    return assembled(memory, std::nullopt, device, inside_chip(opcode, group_size));
  }
  require_links(opcode, group_size, device);
  const Network network = network_of(*device.interconnect, group.chips);
  std::string algorithm = plain_name(opcode) + " on " + network.shape;
  if (network.sides.empty()) algorithm += " of " + std::to_string(group.chips);
  if (has_slice(device)) algorithm += ", to a neighbour: the program does not say to whom";
  const double bytes = chip_payload(pattern, payload, group);
  return assembled(memory, alpha_beta(pattern, bytes, group.chips, network), device,
                   std::move(algorithm));
}

CollectiveTime collective_time(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (const std::optional<Seconds> end = running_collective_end(kernel, device)) {
    return {*end, Seconds{0}, *end, "end of a collective that earlier kernels ran beside"};
  }
  const Opcode opcode = crossing_opcode(kernel);
  const Bytes payload = collective_payload(kernel, PayloadSize::kPadded);
  const ir::DeviceGroups& devices = kernel.device_groups();
  if (has_slice(device) && !is_to_neighbour(opcode)) {
    if (!devices.pairs.empty()) {
      return permute_time(opcode, payload, place_pairs(device, devices.pairs), device);
    }
    if (!devices.groups.empty()) return slowest_group(opcode, payload, devices.groups, device);
  }
  return collective_time(opcode, payload, kernel.group_size(), device);
}

namespace {

// The share of a chip's payload that must leave it.
double sent_share(Pattern pattern, double chips) {
  const bool whole = pattern == Pattern::kBroadcast || pattern == Pattern::kPermute;
  return (pattern == Pattern::kAllReduce ? 2 : 1) * (whole ? 1 : 1 - 1 / chips);
}

double all_links(const hwdesc::Device& device) {
  return device.interconnect->link_bandwidth.value * device.interconnect->links;
}

// Lower bound for one group on a slice; a chip's share of the network adds to its links if the
// group crosses slices.
Seconds bound_at(Pattern pattern, Bytes payload, const Place& place, const hwdesc::Device& device) {
  const std::int64_t chips = place.chips * place.slices;
  if (chips <= 1) return Seconds{0};
  const bool crosses = place.slices > 1 || (place.odd && place.odd->network_load > 0);
  const double egress = all_links(device) + (crosses ? network_of(device, place).to_network : 0);
  if (!(egress > 0)) return Seconds{0};
  const double cores = place.odd ? 1 : place.cores;
  return Seconds{sent_share(pattern, static_cast<double>(chips)) *
                 chip_payload(pattern, payload, {cores, chips}) / egress};
}

Seconds slice_bound(Pattern pattern, Bytes payload, const std::vector<Ids>& groups,
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
  const Pattern pattern = require_pattern(opcode);
  if (has_slice(device) && pattern != Pattern::kPermute) {
    return slice_bound(pattern, payload, first_devices(device, group_size), device);
  }
  const DeviceGroup group = locate(group_size, device);
  if (group.chips <= 1 || !device.interconnect) return Seconds{0};
  const double egress = all_links(device);
  if (!(egress > 0)) return Seconds{0};
  return Seconds{sent_share(pattern, static_cast<double>(group.chips)) *
                 chip_payload(pattern, payload, group) / egress};
}

Seconds collective_lower_bound(const ir::Kernel& kernel, PayloadSize size,
                               const hwdesc::Device& device) {
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

Opcode crossing_opcode(const ir::Kernel& kernel) {
  const ir::Op* op = collective_op(kernel);
  if (op == nullptr) return kernel.opcode();
  if (pattern_of(op->opcode) != Pattern::kAllReduce) return op->opcode;
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
      pattern == Pattern::kAllGather || pattern == Pattern::kBroadcast || opcode == Opcode::kRecv;
  if (by_result) return bytes_of(kernel.outputs());
  if (opcode == Opcode::kRaggedAllToAll || opcode == Opcode::kSend) {
    return bytes_of(
        kernel.parameters().first(std::min<std::size_t>(1, kernel.parameters().size())));
  }
  return bytes_of(kernel.parameters());
}

}  // namespace tilecast::analytical
