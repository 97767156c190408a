// How often a while loop runs: known_trip_count of its backend_config, else the
// counted-loop pattern, else nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/hlo.h"

namespace tilecast::ir {

[[nodiscard]] std::optional<std::int64_t> trip_count(const Module& module,
                                                     const Computation& caller,
                                                     const Instruction& while_op);

}  // namespace tilecast::ir
