// Reads HLO serialised by XLA: HloProto, HloModuleProto or HloSnapshot, distinguished by their
// fields. The result is the same as from the text form, so all estimates are identical. Unknown
// fields are skipped. Throws Error (file: message). Limits: 2 GiB, nesting depth 100, 4 M
// instructions. Thread-safe. Field numbers: xla/service/hlo.proto, xla/xla_data.proto.
#pragma once

#include <string>
#include <string_view>

#include "ir/hlo.h"

namespace tilecast::ir {

// Whether the bytes look like one of the three. Cheap; never throws.
[[nodiscard]] bool is_hlo_proto(std::string_view bytes);
[[nodiscard]] Module read_hlo_proto(std::string_view bytes, const std::string& file);

}  // namespace tilecast::ir
