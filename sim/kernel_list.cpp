#include "sim/kernel_list.h"

#include <fmt/format.h>

namespace tilecast::sim {
namespace {

double padded_bytes(const ir::Kernel& kernel) {
  double total = 0;
  for (const ir::OpId id : kernel.parameters()) {
    total += static_cast<double>(ir::padded_bytes(kernel.op(id).shape));
  }
  for (const ir::OpId id : kernel.outputs()) {
    total += static_cast<double>(ir::padded_bytes(kernel.op(id).shape));
  }
  return total;
}

}  // namespace

measured::CsvTable kernel_list(const ir::Program& program, const std::string& file) {
  measured::CsvTable list{file,
                          {"file", "kernel", "opcode", "computation", "launches", "ops", "flops",
                           "transcendentals", "bytes_accessed", "padded_bytes"},
                          {}};
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    const ir::Kernel& kernel = scheduled.kernel;
    const ir::WorkCounts& work = kernel.work();
    const auto number = [](double value) { return fmt::format("{}", value); };
    list.rows.push_back(
        {0,
         {file, kernel.name(), std::string(ir::name(kernel.opcode())), scheduled.computation,
          number(scheduled.multiplicity), fmt::format("{}", kernel.ops().size()),
          number(static_cast<double>(work.flops)),
          number(static_cast<double>(work.transcendentals)),
          number(static_cast<double>(work.bytes_accessed)), number(padded_bytes(kernel))}});
  }
  return list;
}

}  // namespace tilecast::sim
