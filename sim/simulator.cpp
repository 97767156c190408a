#include "sim/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analytical/transfer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ir/canonical_hash.h"
#include "measured/total_interval.h"
#include "sim/distinct_kernels.h"

namespace tilecast::sim {
namespace {

using analytical::Estimate;

constexpr std::size_t kBatch = 16;  // kernels per call of the model, on one thread

// Whether the kernel computes on the host or uses arrays in host memory.
bool uses_host(const ir::Kernel& kernel) {
  const auto on_host = [&](ir::OpId id) {
    return kernel.op(id).shape.memory_space() == analytical::kHostMemory;
  };
  return kernel.on_host() || std::ranges::any_of(kernel.parameters(), on_host) ||
         std::ranges::any_of(kernel.outputs(), on_host);
}

Lane lane_of(const ir::ScheduledKernel& scheduled) {
  if (ir::op_class(scheduled.kernel.opcode()) == ir::OpClass::kCollective) return Lane::kNetwork;
  if (!scheduled.asynchronous) return Lane::kCompute;
  return uses_host(scheduled.kernel) ? Lane::kHost : Lane::kDma;
}

struct Asked {
  std::vector<ir::Shared<Estimate>> distinct;  // empty: no estimate
  std::vector<std::size_t> which;              // by kernel, into `distinct`
};

Asked ask(const ir::Program& program, const hwdesc::Device& device,
          const analytical::CostModel& model, int jobs) {
  DistinctKernels distinct = distinct_kernels(program, device);
  std::vector<analytical::KernelQuery> queries;
  for (const ir::Kernel* kernel : distinct.kernels) queries.push_back({*kernel});
  Asked asked{std::vector<ir::Shared<Estimate>>(queries.size()), std::move(distinct.which)};
  const auto ask_some = [&](std::size_t first, std::size_t end) {
    auto answers = model.estimate(std::span(queries).subspan(first, end - first), device);
    TC_CHECK(answers.size() == end - first, "a cost model answers every query");
    for (std::size_t i = first; i < end; ++i) {
      if (answers[i - first]) asked.distinct[i] = std::move(*answers[i - first]);
    }
  };
  base::parallel_for_batches(queries.size(), kBatch, jobs, ask_some);
  return asked;
}

Error no_model(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return Error(
      fmt::format("kernel {} ({}): no model for it on device {}; --unknown-op=skip counts it as "
                  "zero and says so",
                  kernel.name(), ir::name(kernel.opcode()), device.name));
}

SimulatedKernel simulated(const ir::ScheduledKernel& scheduled, ir::KernelId id,
                          const ir::Shared<Estimate>& answer) {
  SimulatedKernel kernel{.id = id,
                         .name = scheduled.kernel.name(),
                         .computation = scheduled.computation,
                         .opcode = scheduled.kernel.opcode(),
                         .multiplicity = scheduled.multiplicity,
                         .lane = lane_of(scheduled),
                         .estimate = answer ? answer : Estimate{},
                         .skipped = !answer};
  if (kernel.skipped) return kernel;
  const double time_s = kernel.estimate->time.value;
  if (!std::isfinite(time_s) || time_s < 0) {
    throw Error(fmt::format("kernel {} ({}): the model returned a non-finite time", kernel.name,
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

// Equal kernels have the same error, so they count as launches of one kernel.
std::optional<measured::Interval> interval_of(const Asked& asked,
                                              const std::vector<SimulatedKernel>& kernels) {
  std::vector<double> launches(asked.distinct.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    launches[asked.which[i]] += kernels[i].multiplicity;
  }
  std::vector<measured::LaunchedEstimate> launched;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (asked.distinct[i]) launched.push_back({&*asked.distinct[i], launches[i]});
  }
  return measured::total_interval(launched);
}

// Equal kernels are hashed once.
void add_contents(const ir::Program& program, const Asked& asked,
                  std::vector<SimulatedKernel>& kernels) {
  std::vector<std::string> hashes(asked.distinct.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::string& hash = hashes[asked.which[i]];
    if (hash.empty()) hash = ir::canonical_hash(program.kernels()[i].kernel);
    kernels[i].content = hash;
  }
}

}  // namespace

std::optional<BeliefShares> belief_shares(const Simulation& simulation) {
  BeliefShares shares;
  bool any = false;
  for (const SimulatedKernel& kernel : simulation.kernels) {
    const auto& correction = kernel.estimate->correction;
    if (kernel.skipped || !correction) continue;
    BeliefShare& share = correction->weight > kHalfBelieved ? shares.most
                         : correction->weight > 0           ? shares.some
                                                            : shares.none;
    ++share.kernels;
    share.time += kernel.total();
    any = true;
  }
  return any ? std::optional(shares) : std::nullopt;
}

Simulation simulate(const ir::Program& program, const hwdesc::Device& device,
                    const analytical::CostModel& model, const SimulateOptions& options) {
  Simulation result{.program = program.name(),
                    .device = device.name,
                    .memory = program_memory(program, device),
                    .host_dispatch = device.dispatch.host,
                    .roofs = machine_roofs(device),
                    .devices = program.devices(),
                    .slice_devices = slice_devices(device),
                    .notes = {program.notes().begin(), program.notes().end()}};
  const Asked asked = ask(program, device, model, options.jobs);
  result.kernels.reserve(asked.which.size());
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < asked.which.size(); ++i) {
    const ir::ScheduledKernel& scheduled = program.kernels()[i];
    const ir::Shared<Estimate>& answer = asked.distinct[asked.which[i]];
    if (!answer && options.unknown_op == UnknownOp::kError) {
      throw no_model(scheduled.kernel, device);
    }
    result.kernels.push_back(simulated(scheduled, ir::KernelId(i), answer));
    result.time += result.kernels.back().total();
    skipped += result.kernels.back().skipped ? 1 : 0;
  }
  if (skipped > 0) result.notes.push_back({"kernels skipped: no model for them, no time", skipped});

  if (options.contents) add_contents(program, asked, result.kernels);
  result.interval = interval_of(asked, result.kernels);
  const Timeline timeline = schedule(tasks_of(program, result.kernels));
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    result.kernels[i].start = timeline.spans[i].start;
    result.kernels[i].end = timeline.spans[i].end;
  }
  result.timeline = timeline.makespan;
  result.communication = communication(program, result.kernels);
  result.energy = program_energy(result.kernels, result.timeline, device);
  return result;
}

}  // namespace tilecast::sim
