// Checks device groups of collectives and source-target pairs of permutes.
#include <algorithm>
#include <array>
#include <set>

#include "base/math.h"
#include "ir/collective_groups.h"
#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

std::string_view name_of(GroupMode mode) {
  constexpr std::array<std::string_view, 4> kNames = {"kCrossReplica", "kCrossPartition",
                                                      "kCrossReplicaAndPartition", "kFlattenedID"};
  return kNames[static_cast<std::size_t>(mode)];
}

GroupMode checked_mode(const Site& site, const CollectiveAttrs& attrs) {
  const Opcode opcode = site.instruction.opcode;
  fail_if(takes_global_ids(opcode) && attrs.channel_id == 0 && attrs.use_global_device_ids,
          "Invalid combination of has_channel_id and use_global_device_ids: {} uses global device "
          "ids without a channel",
          site.instruction.name);
  return group_mode(opcode, attrs);
}

// The number of devices that the module declares for this mode; 1 if not declared.
std::int64_t declared_devices(const Module& module, GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition:
      return module.num_partitions;
    case GroupMode::kFlattenedId: {
      std::int64_t all = 1;
      return __builtin_mul_overflow(module.replica_count, module.num_partitions, &all) ? 1 : all;
    }
    default:
      return module.replica_count;
  }
}

std::string_view devices_called(GroupMode mode) {
  if (mode == GroupMode::kCrossPartition) return "partitions";
  return mode == GroupMode::kFlattenedId ? "flattened IDs" : "replicas";
}

// Requires every id 0..n-1 exactly once and no empty group. Returns n.
std::int64_t check_ids(const std::vector<std::vector<std::int64_t>>& groups) {
  std::vector<std::int64_t> ids;
  for (const auto& group : groups) {
    fail_if(group.empty(), "Instruction cannot have an empty replica group");
    ids.insert(ids.end(), group.begin(), group.end());
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<bool> seen(ids.size(), false);
  bool outside = false;
  for (const std::int64_t id : ids) {
    fail_if(id < 0, "Replica {} is negative in instruction's replica-groups", id);
    if (id >= count) {
      outside = true;
      continue;
    }
    fail_if(seen[static_cast<std::size_t>(id)],
            "Replica {} is repeated in instruction's replica-groups", id);
    seen[static_cast<std::size_t>(id)] = true;
  }
  if (outside) {
    const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
    fail("Replica {} is not named in instruction's replica-groups", missing);
  }
  return count;
}

void check_groups(const Site& site, const CollectiveAttrs& attrs, GroupMode mode, bool uniform) {
  const auto& groups = attrs.groups.groups;
  if (groups.empty()) {
    fail_if(mode == GroupMode::kFlattenedId,
            "Replica groups must be specified in flattened-id mode");
    return;
  }
  const std::int64_t ids = check_ids(groups);
  const std::int64_t declared = declared_devices(site.module, mode);
  fail_if(declared != 1 && ids != declared,
          "In {} mode, replica groups should contain {} {}, but found {}", name_of(mode), declared,
          devices_called(mode), ids);
  if (!uniform) return;
  for (const auto& group : groups) {
    fail_if(group.size() != groups[0].size(), "Replica groups expected to be of uniform size");
  }
}

std::int64_t subgroup_size(const Site& site, const CollectiveAttrs& attrs, GroupMode mode) {
  const auto& groups = attrs.groups.groups;
  const std::int64_t declared =
      mode == GroupMode::kCrossPartition ? site.module.num_partitions : site.module.replica_count;
  const std::int64_t size = groups.empty() ? declared : static_cast<std::int64_t>(groups[0].size());
  if (mode != GroupMode::kCrossReplicaAndPartition) return size;
  std::int64_t all = 1;
  return __builtin_mul_overflow(size, site.module.num_partitions, &all) ? 1 : all;
}

// Result `index` of an operation with one result per operand; shapes were inferred already.
const Shape& gathered(const Site& site) {
  const Shape& shape = site.instruction.opcode == Opcode::kAllGatherStart
                           ? site.instruction.shape.elements[1]
                           : site.instruction.shape;
  return site.count() > 1 ? shape.elements[0] : shape;
}

void check_shards(const Site& site, std::int64_t subgroup, bool gather) {
  const auto axis = static_cast<std::size_t>(site.single_dimension());
  const std::int64_t in = site.operand(0).dims[axis];
  const std::int64_t out = gathered(site).dims[axis];
  const std::int64_t larger = gather ? out : in;
  const std::int64_t smaller = gather ? in : out;
  const std::int64_t shards = smaller == 0 ? subgroup : base::ceil_div(larger, smaller);
  fail_if(subgroup != 1 && shards != subgroup, "shard_count = {}, subgroup_size = {}, {}", shards,
          subgroup, site.instruction.name);
}

void check_all_to_all(const Site& site, std::int64_t splits) {
  if (site.instruction.dimensions.empty()) {
    fail_if(splits != 1 && static_cast<std::int64_t>(site.count()) != splits,
            "hlo->operand_count() == split_count: all-to-all has {} operands for groups of {}",
            site.count(), splits);
    return;
  }
  const std::int64_t size = site.operand(0).dims[static_cast<std::size_t>(site.single_dimension())];
  fail_if(splits > 1 && size % splits != 0,
          "AllToAll split dimension size {} must be dividable by split_count {}.", size, splits);
}

// ---- collective-permute ------------------------------------------------------------------------

class PairLimits {
 public:
  PairLimits(std::string_view what, std::int64_t limit) : what_(what), limit_(limit) {}

  void add(std::int64_t id, bool once) {
    fail_if(id < 0, "{} {} in the instruction's source-target pair must be >= 0", what_, id);
    fail_if(limit_ != 1 && id >= limit_,
            "{} {} in the instruction's source-target pair must be < {}", what_, id, limit_);
    fail_if(!seen_.insert(id).second && once,
            "{} {} appears more than once in instruction's source-target pairs", what_, id);
  }

 private:
  std::string_view what_;
  std::int64_t limit_;
  std::set<std::int64_t> seen_;
};

// In place, a device may send several slices.
void check_permute(const Site& site, const CollectiveAttrs& attrs) {
  const bool once = site.instruction.find_raw("slice_sizes") == nullptr;
  const std::int64_t limit = declared_devices(site.module, checked_mode(site, attrs));
  PairLimits sources("Source", limit);
  PairLimits targets("Target", limit);
  for (const auto& [source, target] : attrs.source_target_pairs) {
    sources.add(source, once);
    targets.add(target, once);
  }
}

}  // namespace

void check_collective(const Site& site) {
  using enum Opcode;
  const CollectiveAttrs* attrs = site.instruction.get<CollectiveAttrs>();
  if (attrs == nullptr) return;
  const Opcode opcode = site.instruction.opcode;
  if (is_one_of(opcode, {kCollectivePermute, kCollectivePermuteStart})) {
    return check_permute(site, *attrs);
  }
  const bool reduces = is_one_of(opcode, {kAllReduce, kAllReduceStart});
  const bool shards = is_one_of(opcode, {kAllGather, kAllGatherStart, kReduceScatter});
  if (!reduces && !shards && !is_one_of(opcode, {kAllToAll, kRaggedAllToAll})) return;
  const GroupMode mode = checked_mode(site, *attrs);
  check_groups(site, *attrs, mode, /*uniform=*/!reduces);
  if (shards) check_shards(site, subgroup_size(site, *attrs, mode), opcode != kReduceScatter);
  if (opcode == kAllToAll) check_all_to_all(site, subgroup_size(site, *attrs, mode));
  fail_if(reduces && attrs->channel_id < 0, "All reduce channel id must be greater than 0 for {}",
          site.instruction.name);
}

}  // namespace tilecast::ir::verification
