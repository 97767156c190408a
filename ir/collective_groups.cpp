#include "ir/collective_groups.h"

#include <algorithm>

namespace tilecast::ir {
namespace {

// These have no `use_global_device_ids`: a channel alone makes their ids partitions.
bool channel_means_partitions(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return true;
    default:
      return false;
  }
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t participants(std::vector<std::pair<std::int64_t, std::int64_t>> pairs) {
  std::vector<std::int64_t> devices;
  for (const auto& [source, target] : pairs) {
    devices.push_back(source);
    devices.push_back(target);
  }
  std::sort(devices.begin(), devices.end());
  return std::unique(devices.begin(), devices.end()) - devices.begin();
}

}  // namespace

std::int64_t group_size(const Module& module, const Instruction& instruction) {
  if (instruction.opcode == Opcode::kSend || instruction.opcode == Opcode::kRecv) return 2;
  const auto* collective = instruction.get<CollectiveAttrs>();
  if (collective == nullptr) return 1;
  if (!collective->source_target_pairs.empty()) {
    return std::max<std::int64_t>(1, participants(collective->source_target_pairs));
  }
  const bool has_channel = collective->channel_id != 0;
  const bool of_partitions = has_channel && channel_means_partitions(instruction.opcode);
  const bool across_both = has_channel && !of_partitions && !collective->use_global_device_ids;
  std::size_t largest = 0;
  for (const auto& group : collective->groups.groups) largest = std::max(largest, group.size());
  if (largest > 0) {
    const auto ids = static_cast<std::int64_t>(largest);
    return across_both ? saturating_product(ids, module.num_partitions) : ids;
  }
  if (of_partitions) return std::max<std::int64_t>(1, module.num_partitions);
  if (!has_channel) return std::max<std::int64_t>(1, module.replica_count);
  return std::max<std::int64_t>(1, saturating_product(module.replica_count, module.num_partitions));
}

}  // namespace tilecast::ir
