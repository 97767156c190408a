// The part of a module's proto that every instruction has: names, opcodes, shapes, operands,
// callees, parameter numbers, the entry. Tests add the fields under test.
#pragma once

#include "ir/hlo.h"
#include "ir/proto/hlo.pb.h"

namespace tilecast::support {

[[nodiscard]] hlo_proto::Module proto_skeleton(const ir::Module& module);

}  // namespace tilecast::support
