// The devices that take part in a collective, by group, and the size of a group.
#pragma once

#include <optional>
#include <string_view>

#include "ir/device_groups.h"
#include "ir/hlo.h"

namespace tilecast::ir {

// How to interpret the ids in replica groups (XLA's GetCollectiveOpGroupMode).
enum class GroupMode : std::uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId,
};
// Whether the opcode has `use_global_device_ids`. If not, ids are partitions whenever there is a
// channel id.
[[nodiscard]] bool takes_global_ids(Opcode opcode);
[[nodiscard]] GroupMode group_mode(Opcode opcode, const CollectiveAttrs& attrs);

// The number of devices in a group, from the replica groups, the source-target pairs or, if the
// groups are empty, the module's replica and partition counts. 2 for send and receive; for a
// fusion, that of the collective inside it; 1 for anything else.
[[nodiscard]] std::int64_t group_size(const Module& module, const Instruction& instruction);
// The devices themselves; for a fusion, those of the collective inside it with the largest group.
[[nodiscard]] DeviceGroups device_groups(const Module& module, const Instruction& instruction);

// A send or receive of XLA:TPU's Megascale runtime (`_xla_megascale_target`): the hosts exchange
// what their chips hold over the network between slices. Both ends name one rendezvous.
struct SliceTransfer {
  Exchange pattern = Exchange::kPermute;
  std::int64_t slices = 2;      // in a group; where slices send to single others: 2
  std::string_view rendezvous;  // points into the instruction
};
[[nodiscard]] std::optional<SliceTransfer> slice_transfer(const Instruction& instruction);

}  // namespace tilecast::ir
