#include "sim/memory.h"

#include <fmt/format.h>

namespace tilecast::sim {

ProgramMemory program_memory(const ir::Program& program, const hwdesc::Device& device) {
  const ir::MemoryUse& use = program.memory();
  return {.peak = use.peak,
          .outputs = use.whole.outputs,
          .aliased = use.aliased,
          .at = use.at,
          .unsized = use.unsized,
          .capacity = device.memory.empty() ? Bytes{0} : device.main_memory().capacity};
}

measured::CsvTable memory_list(const ir::Program& program, const std::string& file) {
  measured::CsvTable list{file,
                          {"file", "at", "buffer", "computation", "kind", "shape", "bytes", "share",
                           "made_at", "last_read_at"},
                          {}};
  const ir::MemoryUse& use = program.memory();
  const double peak = use.peak.total();
  for (const ir::LiveBuffer& buffer : use.live) {
    const std::string element = buffer.leaf > 0 ? fmt::format("{{{}}}", buffer.leaf) : "";
    list.rows.push_back(
        {0,
         {file, use.at, buffer.name + element, buffer.computation,
          std::string(ir::name(buffer.kind)), ir::to_string(buffer.shape),
          fmt::format("{}", buffer.bytes), fmt::format("{:.4f}", buffer.bytes / peak),
          buffer.made_at, buffer.last_read_at}});
  }
  return list;
}

}  // namespace tilecast::sim
