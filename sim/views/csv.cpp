#include <fmt/format.h>

#include "sim/program_numbers.h"
#include "sim/views/correction.h"
#include "sim/views/energy.h"
#include "sim/views/rows.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::views {
namespace {

Fields fields_of(const Simulation& run, const SimulatedKernel& kernel) {
  const analytical::Estimate& e = *kernel.estimate;
  const auto unless_skipped = [&](std::string cell) { return kernel.skipped ? "" : cell; };
  Fields fields{
      {"file", run.file},
      {"program", run.program},
      {"device", run.device},
      {"kernel", kernel.name},
      {"opcode", std::string(ir::name(kernel.opcode))},
      {"multiplicity", csv_number(kernel.multiplicity)},
      {"time_s", unless_skipped(csv_number(e.time.value))},
      {"total_s", unless_skipped(csv_number(kernel.total().value))},
      {"start_s", csv_number(kernel.start.value)},
      {"end_s", csv_number(kernel.end.value)},
      {"bound", unless_skipped(std::string(analytical::name(e.bound)))},
      {"next_bound", unless_skipped(std::string(analytical::name(e.next_bound)))},
      {"next_time_s", csv_number(e.next_time.value)},
      {"utilisation", csv_number(e.utilisation)},
      {"speed_of_light_s", csv_number(e.speed_of_light.value)},
      {"hbm_read_bytes", csv_number(e.hbm_read.value)},
      {"hbm_write_bytes", csv_number(e.hbm_write.value)},
      {"flops", csv_number(e.flops.value)},
      {"scratchpad_used_bytes", csv_number(e.scratchpad_used.value)},
      {"iterations", csv_number(e.iterations)},
      {"tile", analytical::to_string(e.tile)},
      {"model", std::string(e.model)},
      {"flags", kernel.skipped ? "skipped" : fmt::format("{}", fmt::join(e.flags, "; "))}};
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    fields.push_back({fmt::format("{}_s", analytical::name(static_cast<analytical::Bound>(i))),
                      csv_number(e.bounds[i].value)});
  }
  add_launch_energy(fields, e, run.energy ? std::optional(run.energy->idle_power) : std::nullopt);
  for (const ProgramNumber& number : memory_numbers()) {
    fields.push_back({std::string(number.name), csv_number(number.of(run))});
  }
  add_correction(fields, e.correction);
  return fields;
}

}  // namespace

std::string csv(std::span<const Simulation> runs) {
  std::string out = csv_header(fields_of({}, {}));
  for (const Simulation& run : runs) {
    for (const SimulatedKernel& kernel : run.kernels) out += csv_row(fields_of(run, kernel));
  }
  return out;
}

}  // namespace tilecast::sim::views
