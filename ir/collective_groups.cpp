#include "ir/collective_groups.h"

#include <algorithm>

namespace tilecast::ir {
namespace {

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

bool takes_global_ids(Opcode opcode) {
  using enum Opcode;
  return !is_one_of(opcode, {kAllToAll, kRaggedAllToAll, kCollectiveBroadcast, kCollectivePermute,
                             kCollectivePermuteStart});
}

GroupMode group_mode(Opcode opcode, const CollectiveAttrs& attrs) {
  if (attrs.channel_id == 0) return GroupMode::kCrossReplica;
  if (!takes_global_ids(opcode)) return GroupMode::kCrossPartition;
  return attrs.use_global_device_ids ? GroupMode::kFlattenedId
                                     : GroupMode::kCrossReplicaAndPartition;
}

std::int64_t group_size(const Module& module, const Instruction& instruction) {
  if (is_one_of(instruction.opcode, {Opcode::kSend, Opcode::kRecv})) return 2;
  if (instruction.opcode == Opcode::kFusion && !instruction.called.empty()) {
    std::int64_t largest = 1;
    for (const Instruction& inner : module.at(instruction.called[0]).instructions) {
      largest = std::max(largest, group_size(module, inner));
    }
    return largest;
  }
  const auto* collective = instruction.get<CollectiveAttrs>();
  if (collective == nullptr) return 1;
  if (!collective->source_target_pairs.empty()) {
    return std::max<std::int64_t>(1, participants(collective->source_target_pairs));
  }
  const GroupMode mode = group_mode(instruction.opcode, *collective);
  std::size_t largest = 0;
  for (const auto& group : collective->groups.groups) largest = std::max(largest, group.size());
  if (largest > 0) {
    const auto ids = static_cast<std::int64_t>(largest);
    const bool across_both = mode == GroupMode::kCrossReplicaAndPartition;
    return across_both ? saturating_product(ids, module.num_partitions) : ids;
  }
  std::int64_t devices = saturating_product(module.replica_count, module.num_partitions);
  if (mode == GroupMode::kCrossPartition) devices = module.num_partitions;
  if (mode == GroupMode::kCrossReplica) devices = module.replica_count;
  return std::max<std::int64_t>(1, devices);
}

}  // namespace tilecast::ir
