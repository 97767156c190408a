// Peak memory of a program (sim/memory.h) as a line of text and JSON. Pure.
#pragma once

#include <string>

#include "sim/memory.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {

// "memory    peak 1.2 GiB of 16 GiB: arguments ..., temporaries ..., outputs ...", and the excess
// if it does not fit; ends with a newline.
[[nodiscard]] std::string memory_line(const ProgramMemory& memory);
// peak_bytes, capacity_bytes, fits, spare_bytes, the split at the peak, all outputs, aliased, at.
[[nodiscard]] nlohmann::ordered_json memory_json(const ProgramMemory& memory);

}  // namespace tilecast::sim::views
