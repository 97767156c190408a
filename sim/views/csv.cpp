#include "sim/views/csv.h"

#include <fmt/format.h>

#include "measured/csv.h"
#include "sim/views/correction.h"

namespace tilecast::sim::views {
namespace {

std::string number(double value) {
  return fmt::format("{}", value);
}

std::string header() {
  std::vector<std::string> columns{"file",
                                   "program",
                                   "device",
                                   "kernel",
                                   "opcode",
                                   "multiplicity",
                                   "time_s",
                                   "total_s",
                                   "start_s",
                                   "end_s",
                                   "bound",
                                   "next_bound",
                                   "next_time_s",
                                   "utilisation",
                                   "speed_of_light_s",
                                   "hbm_read_bytes",
                                   "hbm_write_bytes",
                                   "flops",
                                   "scratchpad_used_bytes",
                                   "iterations",
                                   "tile",
                                   "model",
                                   "flags"};
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    columns.push_back(fmt::format("{}_s", analytical::name(static_cast<analytical::Bound>(i))));
  }
  for (std::string& column : correction_columns()) columns.push_back(std::move(column));
  return measured::csv_line(columns);
}

std::string row(const Simulation& run, const SimulatedKernel& kernel) {
  const analytical::Estimate& e = kernel.estimate;
  std::vector<std::string> cells{
      run.file,
      run.program,
      run.device,
      kernel.name,
      std::string(ir::name(kernel.opcode)),
      number(kernel.multiplicity),
      kernel.skipped ? "" : number(e.time.value),
      kernel.skipped ? "" : number(kernel.total().value),
      number(kernel.start.value),
      number(kernel.end.value),
      kernel.skipped ? "" : std::string(analytical::name(e.bound)),
      kernel.skipped ? "" : std::string(analytical::name(e.next_bound)),
      number(e.next_time.value),
      number(e.utilisation),
      number(e.speed_of_light.value),
      number(e.hbm_read.value),
      number(e.hbm_write.value),
      number(e.flops.value),
      number(e.scratchpad_used.value),
      number(e.iterations),
      analytical::to_string(e.tile),
      std::string(e.model),
      kernel.skipped ? "skipped" : fmt::format("{}", fmt::join(e.flags, "; "))};
  for (const Seconds time : e.bounds) cells.push_back(number(time.value));
  for (std::string& value : correction_values(e.correction)) cells.push_back(std::move(value));
  return measured::csv_line(cells);
}

}  // namespace

std::string csv(std::span<const Simulation> runs) {
  std::string out = header();
  for (const Simulation& run : runs) {
    for (const SimulatedKernel& kernel : run.kernels) out += row(run, kernel);
  }
  return out;
}

}  // namespace tilecast::sim::views
