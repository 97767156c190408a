#include "sim/simulator.h"

#include <fmt/format.h>

#include <cmath>

#include "diag/error.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;

Lane lane_of(const ir::ScheduledKernel& scheduled) {
  if (ir::op_class(scheduled.kernel.opcode()) == ir::OpClass::kCollective) return Lane::kNetwork;
  return scheduled.asynchronous ? Lane::kDma : Lane::kCompute;
}

std::vector<std::optional<Estimate>> ask(const ir::Program& program, const hwdesc::Device& device,
                                         const analytical::CostModel& model) {
  std::vector<analytical::KernelQuery> queries;
  queries.reserve(program.kernels().size());
  for (const ir::ScheduledKernel& scheduled : program.kernels()) {
    queries.push_back({scheduled.kernel});
  }
  std::vector<std::optional<Estimate>> answers = model.estimate(queries, device);
  TC_CHECK(answers.size() == queries.size(), "a cost model answers every query");
  return answers;
}

Error no_model(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return Error(
      fmt::format("kernel {} ({}): no model for it on device {}; --unknown-op=skip counts it as "
                  "zero and says so",
                  kernel.name(), ir::name(kernel.opcode()), device.name));
}

SimulatedKernel simulated(const ir::ScheduledKernel& scheduled, ir::KernelId id,
                          std::optional<Estimate>& answer) {
  SimulatedKernel kernel{.id = id,
                         .name = scheduled.kernel.name(),
                         .computation = scheduled.computation,
                         .opcode = scheduled.kernel.opcode(),
                         .multiplicity = scheduled.multiplicity,
                         .lane = lane_of(scheduled)};
  if (!answer) {
    kernel.skipped = true;
    return kernel;
  }
  kernel.estimate = std::move(*answer);
  const double time_s = kernel.estimate.time.value;
  if (!std::isfinite(time_s) || time_s < 0) {
    throw Error(fmt::format("kernel {} ({}): the model gives no finite time for it", kernel.name,
                            ir::name(kernel.opcode)));
  }
  return kernel;
}

std::vector<Task> tasks_of(const ir::Program& program,
                           const std::vector<SimulatedKernel>& kernels) {
  std::vector<Task> tasks;
  tasks.reserve(kernels.size());
  for (const SimulatedKernel& kernel : kernels) {
    const ir::ScheduledKernel& scheduled = program.at(kernel.id);
    Task task{.duration = kernel.total(), .lane = kernel.lane};
    for (const ir::KernelId earlier : scheduled.waits_for) {
      task.waits_for.push_back(earlier.index());
    }
    if (scheduled.done_before.valid()) task.done_before = scheduled.done_before.index();
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace

Simulation simulate(const ir::Program& program, const hwdesc::Device& device,
                    const analytical::CostModel& model, const SimulateOptions& options) {
  Simulation result{.program = program.name(),
                    .device = device.name,
                    .host_dispatch = device.dispatch.host,
                    .notes = {program.notes().begin(), program.notes().end()}};
  std::vector<std::optional<Estimate>> answers = ask(program, device, model);
  result.kernels.reserve(answers.size());
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const ir::ScheduledKernel& scheduled = program.kernels()[i];
    if (!answers[i] && options.unknown_op == UnknownOp::kError) {
      throw no_model(scheduled.kernel, device);
    }
    result.kernels.push_back(simulated(scheduled, ir::KernelId(i), answers[i]));
    result.time += result.kernels.back().total();
    skipped += result.kernels.back().skipped ? 1 : 0;
  }
  if (skipped > 0) result.notes.push_back({"kernels skipped: no model for them, no time", skipped});

  const Timeline timeline = schedule(tasks_of(program, result.kernels));
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    result.kernels[i].start = timeline.spans[i].start;
    result.kernels[i].end = timeline.spans[i].end;
  }
  result.timeline = timeline.makespan;
  return result;
}

}  // namespace tilecast::sim
