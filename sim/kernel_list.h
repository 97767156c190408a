// The kernels of a program with their work, as a table of rows: no device and no time in it.
// flops, transcendentals and bytes_accessed are counted as XLA's HloCostAnalysis does (-1:
// unknown), for one launch; padded_bytes are parameters plus outputs in their layouts.
#pragma once

#include "ir/program.h"
#include "measured/csv.h"

namespace tilecast::sim {

[[nodiscard]] measured::CsvTable kernel_list(const ir::Program& program, const std::string& file);

}  // namespace tilecast::sim
