#include "ir/kernels/in_place_update.h"

#include <algorithm>
#include <optional>

#include "ir/ops/index_map.h"

namespace tilecast::ir {
namespace {

bool only_renames(const Op& op) {
  return op.operands.size() == 1 && has(op.opcode, Trait::kReshapes);
}

// The target and update of one result.
std::optional<InPlaceUpdate> update_of(const Kernel& kernel, OpId id, std::size_t result) {
  const Op& op = kernel.op(id);
  const auto update = replacement_of(op.opcode, op.operands.size(), result);
  if (!update) return std::nullopt;
  return InPlaceUpdate{.op = id,
                       .target = op.operands[result],
                       .update = op.operands[*update],
                       .reads = op.opcode == Opcode::kScatter};
}

}  // namespace

std::vector<InPlaceUpdate> in_place_updates(const Kernel& kernel, OpId id) {
  std::vector<InPlaceUpdate> updates;
  std::size_t result = 0;
  while (true) {
    const Op& op = kernel.op(id);
    if (op.opcode == Opcode::kParameter) return updates;
    if (only_renames(op)) {
      id = op.operands[0];
    } else if (op.opcode == Opcode::kGetTupleElement) {
      result = static_cast<std::size_t>(op.as<IndexAttrs>().index);
      id = op.operands[0];
    } else if (const auto update = update_of(kernel, id, result)) {
      updates.push_back(*update);
      id = update->target;
      result = 0;
    } else {
      return {};
    }
  }
}

OpId made_of(const Kernel& kernel, OpId output) {
  const std::vector<InPlaceUpdate> updates = in_place_updates(kernel, output);
  if (updates.empty()) return output;
  return std::ranges::max_element(updates, {},
                                  [&](const InPlaceUpdate& each) {
                                    const Shape& shape = kernel.op(each.update).shape;
                                    return shape.is_array() ? element_count(shape) : 0;
                                  })
      ->update;
}

}  // namespace tilecast::ir
