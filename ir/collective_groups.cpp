#include "ir/collective_groups.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "ir/ops/op_row.h"

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

constexpr std::int64_t kMostDevices = 1 << 16;  // above this, groups are not listed
using Ids = std::vector<std::int64_t>;

Ids first_ids(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  return ids;
}

std::int64_t ids_written(const CollectiveAttrs& collective) {
  std::size_t ids = 2 * collective.source_target_pairs.size();
  for (const Ids& group : collective.groups.groups) ids += group.size();
  return static_cast<std::int64_t>(ids);
}

// Converts groups of ids, interpreted according to `mode`, to groups of devices.
std::vector<Ids> spread(const std::vector<Ids>& written, GroupMode mode, const Module& module) {
  const std::int64_t partitions = module.num_partitions;
  if (mode == GroupMode::kFlattenedId) return written;
  std::vector<Ids> groups;
  for (const Ids& ids : written) {
    if (mode == GroupMode::kCrossReplicaAndPartition) {
      Ids& group = groups.emplace_back();
      for (const std::int64_t replica : ids) {
        for (std::int64_t p = 0; p < partitions; ++p) group.push_back(replica * partitions + p);
      }
      continue;
    }
    const bool by_replica = mode == GroupMode::kCrossReplica;
    const std::int64_t copies = by_replica ? partitions : module.replica_count;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      Ids& group = groups.emplace_back();
      for (const std::int64_t id : ids) {
        group.push_back(by_replica ? id * partitions + copy : copy * partitions + id);
      }
    }
  }
  return groups;
}

// The fusion's collective with the largest group, or the instruction itself.
const Instruction& crossing(const Module& module, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kFusion || instruction.called.empty()) return instruction;
  const Instruction* found = &instruction;
  std::int64_t largest = 1;
  for (const Instruction& inner : module.at(instruction.called[0]).instructions) {
    const std::int64_t size = group_size(module, inner);
    if (size > largest) found = &crossing(module, inner);
    largest = std::max(largest, size);
  }
  return *found;
}

// The value of `key` in frontend attributes, without its quotation marks; "" if absent.
std::string_view value_of(std::string_view attributes, std::string_view key) {
  const std::size_t at = attributes.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view value = attributes.substr(at + key.size());
  if (!value.starts_with('"')) return value;
  value.remove_prefix(1);
  return value.substr(0, value.find('"'));
}

// Slices in the first group: of {1,2}x{0:7} two, of {{100000,200000},{100001,...}} two.
std::int64_t slices_of(std::string_view target) {
  target.remove_prefix(std::min(target.find_first_not_of('{'), target.size()));
  target = target.substr(0, target.find('}'));
  if (target.find('>') != std::string_view::npos) return 2;
  std::int64_t slices = 0;
  while (!target.empty()) {
    const std::string_view entry = target.substr(0, target.find(','));
    target.remove_prefix(std::min(target.size(), entry.size() + 1));
    const std::size_t colon = entry.find(':');
    const auto first = base::parse_number<std::int64_t>(entry.substr(0, colon));
    const auto last = colon == std::string_view::npos
                          ? first
                          : base::parse_number<std::int64_t>(entry.substr(colon + 1));
    slices += first && last && *last > *first ? *last - *first + 1 : 1;
  }
  return std::max<std::int64_t>(slices, 2);
}

}  // namespace

std::optional<SliceTransfer> slice_transfer(const Instruction& instruction) {
  if (!has(instruction.opcode, Trait::kNeighbour)) return std::nullopt;
  const std::string* attributes = instruction.find_raw("frontend_attributes");
  if (attributes == nullptr || attributes->find("_xla_megascale_") == std::string::npos)
    return std::nullopt;
  constexpr std::pair<std::string_view, Exchange> kTypes[] = {
      {"ALL_REDUCE", Exchange::kAllReduce},
      {"ALL_GATHER", Exchange::kAllGather},
      {"REDUCE_SCATTER", Exchange::kReduceScatter},
      {"ALL_TO_ALL", Exchange::kAllToAll}};
  SliceTransfer transfer{.slices = slices_of(value_of(*attributes, "_xla_megascale_target=")),
                         .rendezvous = value_of(*attributes, "_xla_host_transfer_rendezvous=")};
  const std::string_view type = value_of(*attributes, "_xla_megascale_transfer_type=");
  for (const auto& [word, pattern] : kTypes) {
    if (type == word) transfer.pattern = pattern;
  }
  return transfer;
}

bool takes_global_ids(Opcode opcode) {
  const auto rows = attributes_for(opcode, /*predicated=*/false);
  const auto names = [&](std::string_view key) {
    return std::ranges::find(rows, key, &AttributeRow::key) != rows.end();
  };
  return names("use_global_device_ids") || !names("mode");
}

GroupMode group_mode(Opcode opcode, const CollectiveAttrs& attrs) {
  if (attrs.channel_id == 0) return GroupMode::kCrossReplica;
  if (!takes_global_ids(opcode)) return GroupMode::kCrossPartition;
  return attrs.use_global_device_ids ? GroupMode::kFlattenedId
                                     : GroupMode::kCrossReplicaAndPartition;
}

std::int64_t group_size(const Module& module, const Instruction& instruction) {
  if (has(instruction.opcode, Trait::kNeighbour)) return 2;
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

DeviceGroups device_groups(const Module& module, const Instruction& instruction) {
  DeviceGroups devices;
  const Instruction& worker = crossing(module, instruction);
  const auto* collective = worker.get<CollectiveAttrs>();
  const std::int64_t all = saturating_product(module.replica_count, module.num_partitions);
  if (collective == nullptr || all > kMostDevices || ids_written(*collective) > kMostDevices ||
      has(worker.opcode, Trait::kNeighbour)) {
    return devices;
  }
  const GroupMode mode = group_mode(worker.opcode, *collective);
  if (!collective->source_target_pairs.empty()) {
    for (const auto& [source, target] : collective->source_target_pairs) {
      const std::vector<Ids> ends = spread({{source}, {target}}, mode, module);
      for (std::size_t i = 0; i < ends.size() / 2; ++i) {
        devices.pairs.emplace_back(ends[i][0], ends[i + ends.size() / 2][0]);
      }
    }
    return devices;
  }
  const auto& written = collective->groups.groups;
  const bool is_empty = std::ranges::all_of(written, [](const Ids& ids) { return ids.empty(); });
  const std::int64_t ids = mode == GroupMode::kCrossPartition ? module.num_partitions
                           : mode == GroupMode::kFlattenedId  ? all
                                                              : module.replica_count;
  const std::vector<Ids> all_of_them = {first_ids(ids)};
  devices.groups = spread(is_empty ? all_of_them : written, mode, module);
  return devices;
}

}  // namespace tilecast::ir
