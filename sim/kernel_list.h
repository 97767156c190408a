// The kernels of a program with their work, as a table; independent of the device, without times.
// flops, transcendentals and bytes_accessed are counted per launch as in XLA's HloCostAnalysis (-1:
// unknown); padded_bytes are parameters plus outputs in their layouts.
#pragma once

#include "ir/program.h"
#include "measured/csv.h"

namespace tilecast::sim {

[[nodiscard]] measured::CsvTable kernel_list(const ir::Program& program, const std::string& file);

}  // namespace tilecast::sim
