#include "analytical/streams.h"

#include <algorithm>

namespace tilecast::analytical {
namespace {

MemoryStream stream_of(const ir::Kernel& kernel, const Footprints& footprints, ir::OpId id,
                       double granule_bytes) {
  const int group = footprints.group_of(id);
  return {.array = stored_array(kernel.op(id).shape, granule_bytes),
          .group = group,
          .loops = footprints.groups()[group].loops,
          .op = id};
}

bool only_updated_in_place(const ir::Kernel& kernel, std::size_t parameter) {
  const ir::OpId id = kernel.parameters()[parameter];
  const auto users = kernel.users(id);
  return std::any_of(kernel.in_place().begin(), kernel.in_place().end(),
                     [&](const auto& pair) { return pair.second == parameter; }) &&
         std::all_of(users.begin(), users.end(), [&](ir::OpId user) {
           return kernel.op(user).opcode == ir::Opcode::kDynamicUpdateSlice &&
                  kernel.op(user).operands[0] == id;
         });
}

}  // namespace

std::vector<MemoryStream> input_streams(const ir::Kernel& kernel, const Footprints& footprints,
                                        double granule_bytes) {
  std::vector<MemoryStream> streams;
  for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
    const ir::OpId id = kernel.parameters()[i];
    if (only_updated_in_place(kernel, i) || !kernel.op(id).shape.is_array()) continue;
    streams.push_back(stream_of(kernel, footprints, id, granule_bytes));
  }
  return streams;
}

std::vector<MemoryStream> output_streams(const ir::Kernel& kernel, const Footprints& footprints,
                                         double granule_bytes) {
  std::vector<MemoryStream> streams;
  for (const ir::OpId id : kernel.outputs()) {
    const ir::Op& op = kernel.op(id);
    if (!op.shape.is_array()) continue;
    const bool update = op.opcode == ir::Opcode::kDynamicUpdateSlice;
    streams.push_back(stream_of(kernel, footprints, update ? op.operands[1] : id, granule_bytes));
  }
  return streams;
}

}  // namespace tilecast::analytical
