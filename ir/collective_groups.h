// Which devices take part in one group of a collective, and how many they are.
#pragma once

#include "ir/device_groups.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// How the ids in replica groups are read (XLA's GetCollectiveOpGroupMode).
enum class GroupMode : std::uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId,
};
// Whether the op has `use_global_device_ids`; where not, a channel alone makes ids partitions.
[[nodiscard]] bool takes_global_ids(Opcode opcode);
[[nodiscard]] GroupMode group_mode(Opcode opcode, const CollectiveAttrs& attrs);

// From the replica groups, the source-target pairs, or, when the groups are left empty, the
// module's replica and partition counts. 2 for send and receive; of a fusion that of the collective
// inside it; 1 for anything else.
[[nodiscard]] std::int64_t group_size(const Module& module, const Instruction& instruction);
// Who they are; of a fusion, of the collective in it with the largest group.
[[nodiscard]] DeviceGroups device_groups(const Module& module, const Instruction& instruction);

}  // namespace tilecast::ir
