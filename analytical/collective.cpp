#include "analytical/collective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analytical/distinct_traffic.h"
#include "analytical/transfer.h"
#include "base/error.h"

namespace tilecast::analytical {
namespace {

using ir::Opcode;

enum class Pattern { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kPermute };

std::optional<Pattern> pattern_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      return Pattern::kAllReduce;
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
      return Pattern::kAllGather;
    case Opcode::kReduceScatter:
      return Pattern::kReduceScatter;
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
      return Pattern::kAllToAll;
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:  // a broadcast backwards
      return Pattern::kBroadcast;
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kSend:
    case Opcode::kRecv:
      return Pattern::kPermute;
    default:
      return std::nullopt;
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

// Devices of a group on their chips.
struct DeviceGroup {
  double cores = 1;  // of the group on one chip
  std::int64_t chips = 1;
};

DeviceGroup locate(std::int64_t devices, const hwdesc::Device& device) {
  const std::int64_t cores =
      std::clamp<std::int64_t>(devices, 1, std::max(1, device.cores_per_chip));
  return {static_cast<double>(cores), devices < 1 ? 1 : (devices - 1) / cores + 1};
}

// Bytes that one chip sends or shares; see the header.
double chip_payload(Pattern pattern, Bytes payload, const DeviceGroup& group) {
  const bool shared = pattern != Pattern::kAllToAll && pattern != Pattern::kPermute;
  return payload.value * (shared ? 1.0 : group.cores);
}

constexpr double kMaxSide = 1 << 16;  // bounds the search for divisors

// Sizes of the rings of a torus, as square as the divisors of `chips` allow, smallest first.
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

struct Network {
  std::vector<std::int64_t> dims;  // one entry for a ring; empty for a switch
  double egress = 0;               // of one chip, all rings or the switch, bytes per second
  double ring_egress = 0;          // of one ring
  double line_egress = 0;          // of a dimension that does not wrap around
  double in_rings = 1;             // chips, or on the switch
  double in_lines = 1;
  std::int64_t wraps_from = 3;
  double link = 0;
  double steps = 0;
  std::string shape;

  [[nodiscard]] bool is_ring(std::int64_t dim) const { return dim >= wraps_from; }
};

Network network_of(const hwdesc::Interconnect& net, std::int64_t chips) {
  Network n;
  n.link = net.link_bandwidth.value * net.efficiency;
  n.shape = net.topology;
  const double all = n.link * net.links;
  if (net.topology == "switch") {
    n.egress = all;
    n.in_rings = static_cast<double>(chips);
    n.steps = std::ceil(std::log2(static_cast<double>(chips)));
    return n;
  }
  const int dimensions = net.topology == "ring"      ? 1
                         : net.topology == "torus2d" ? 2
                         : net.topology == "torus3d" ? 3
                                                     : 0;
  if (dimensions == 0) {
    throw Error("device interconnect.topology: got \"" + net.topology +
                "\", expected ring, torus2d, torus3d or switch");
  }
  n.dims = torus_dims(chips, dimensions);
  n.wraps_from = std::max(3, net.wraps_from);
  n.ring_egress = all / dimensions;
  n.line_egress = n.ring_egress / 2;
  for (std::size_t i = 0; i < n.dims.size(); ++i) {
    const bool is_ring = n.is_ring(n.dims[i]);
    n.steps += static_cast<double>(n.dims[i] - 1);
    (is_ring ? n.in_rings : n.in_lines) *= static_cast<double>(n.dims[i]);
    if (is_ring) n.egress += n.ring_egress;
    n.shape += (i == 0 ? " " : "x") + std::to_string(n.dims[i]);
  }
  return n;
}

// Of an all-gather: rings at once, then the lines.
double gather_s(const Network& n, double bytes) {
  const double rings = n.in_rings > 1 ? bytes * (1 - 1 / n.in_rings) / n.egress : 0;
  const double left = bytes / n.in_rings;
  return rings + (n.in_lines > 1 ? left * (1 - 1 / n.in_lines) / n.line_egress : 0);
}

// Every byte passes the slowest dimension.
double broadcast_s(const Network& n, double bytes) {
  return std::max(n.in_rings > 1 ? bytes / n.egress : 0,
                  n.in_lines > 1 ? bytes / n.line_egress : 0);
}

// Seconds the busiest link of a uniform all-to-all is busy.
double all_to_all_s(const Network& n, double bytes, double share) {
  if (n.dims.empty()) return bytes * share / n.egress;
  double slowest = n.in_lines > 1 ? bytes * share / n.line_egress : 0;
  for (const std::int64_t dim : n.dims) {
    const double d = static_cast<double>(dim);
    const double egress = n.is_ring(dim) ? n.ring_egress : n.line_egress;
    slowest = std::max(slowest, bytes * std::floor(d * d / 4) / d / egress);
  }
  return slowest;
}

struct AlphaBeta {
  double bandwidth_s = 0, hops = 0;
};

AlphaBeta alpha_beta(Pattern pattern, double bytes, std::int64_t chips, const Network& n) {
  const double share = 1 - 1 / static_cast<double>(chips);
  const double half_way = n.dims.empty() ? 1 : std::max(1.0, std::ceil(n.steps / 2));
  switch (pattern) {
    case Pattern::kAllReduce:
      return {2 * gather_s(n, bytes), 2 * n.steps};
    case Pattern::kAllGather:
    case Pattern::kReduceScatter:
      return {gather_s(n, bytes), n.steps};
    case Pattern::kAllToAll:
      return {all_to_all_s(n, bytes, share), half_way};
    case Pattern::kBroadcast:
      return {broadcast_s(n, bytes), n.dims.empty() ? n.steps : half_way};
    case Pattern::kPermute:
      return {bytes / (n.dims.empty() ? n.egress : n.link), 1};
  }
  return {};
}

// Reading operands and writing results in main memory.
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
  std::string text(ir::name(opcode));
  if (text.ends_with("-start")) text.resize(text.size() - 6);
  return text;
}

}  // namespace

CollectiveTime collective_time(Opcode opcode, Bytes payload, std::int64_t group_size,
                               const hwdesc::Device& device) {
  const Pattern pattern = require_pattern(opcode);
  const DeviceGroup group = locate(group_size, device);
  if (device.memory.empty()) {
    throw Error("device " + device.name + ": memory: got no level, expected main memory");
  }
  const MemoryPath memory = memory_path(device.main_memory());
  const double local = local_s(pattern, payload.value, group_size, memory);
  const double exchange = group.cores > 1 ? payload.value / memory.read : 0;
  PipelineLoop loop{.path_s = exchange + local};
  CollectiveTime result;
  result.algorithm = group_size <= 1 ? "local" : plain_name(opcode) + " inside one chip";
  if (group.chips > 1) {
    if (!device.interconnect || device.interconnect->links < 1 ||
        !(device.interconnect->link_bandwidth.value > 0)) {
      throw Error("device " + device.name +
                  ": interconnect: got none with links, expected one for " + plain_name(opcode) +
                  " over " + std::to_string(group_size) +
                  " devices; add an interconnect block to the device file");
    }
    const Network network = network_of(*device.interconnect, group.chips);
    const AlphaBeta cost =
        alpha_beta(pattern, chip_payload(pattern, payload, group), group.chips, network);
    loop.path_s = exchange + std::max(local, cost.bandwidth_s);
    result.latency_part = Seconds{step_s(*device.interconnect, memory) * cost.hops};
    result.algorithm = plain_name(opcode) + " on " + network.shape;
    if (network.dims.empty()) result.algorithm += " of " + std::to_string(group.chips);
  }
  result.bandwidth_part = Seconds{steady_period_s(loop)};
  result.time = result.bandwidth_part + result.latency_part;
  return result;
}

CollectiveTime collective_time(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (const std::optional<Seconds> end = running_collective_end(kernel, device)) {
    return {*end, Seconds{0}, *end, "end of a collective that earlier kernels ran beside"};
  }
  return collective_time(crossing_opcode(kernel), collective_payload(kernel, PayloadSize::kPadded),
                         kernel.group_size(), device);
}

Seconds collective_lower_bound(Opcode opcode, Bytes payload, std::int64_t group_size,
                               const hwdesc::Device& device) {
  const Pattern pattern = require_pattern(opcode);
  const DeviceGroup group = locate(group_size, device);
  if (group.chips <= 1 || !device.interconnect) return Seconds{0};
  const double egress = device.interconnect->link_bandwidth.value * device.interconnect->links;
  if (!(egress > 0)) return Seconds{0};
  const double share = pattern == Pattern::kBroadcast || pattern == Pattern::kPermute
                           ? 1
                           : 1 - 1 / static_cast<double>(group.chips);
  const double times = pattern == Pattern::kAllReduce ? 2 : 1;
  return Seconds{times * share * chip_payload(pattern, payload, group) / egress};
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
