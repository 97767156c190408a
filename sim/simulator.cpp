#include "sim/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analytical/collective.h"
#include "analytical/transfer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ir/canonical_hash.h"
#include "ir/kernels/kernel_fingerprint.h"
#include "measured/total_interval.h"

namespace tilecast::sim {
namespace {

// A number of a part that a run may lack.
template <class Part, class Of>
std::optional<double> number(const std::optional<Part>& part, const Of& of) {
  return part ? std::optional<double>(of(*part)) : std::nullopt;
}

using analytical::Estimate;

constexpr std::size_t kBatch = 16;  // kernels per call of the model, on one thread

// The host's link has a lane each way: kernels that compute on the host or use arrays there.
std::optional<Lane> host_lane(const ir::Kernel& kernel) {
  const auto on_host = [&](ir::OpId id) {
    return kernel.op(id).shape.memory_space() == ir::kHostMemory;
  };
  if (std::ranges::any_of(kernel.outputs(), on_host)) return Lane::kToHost;
  const bool reads = kernel.on_host() || std::ranges::any_of(kernel.parameters(), on_host);
  return reads ? std::optional(Lane::kHost) : std::nullopt;
}

bool crosses_devices(const ir::Kernel& kernel) {
  return ir::op_class(kernel.opcode()) == ir::OpClass::kCollective ||
         analytical::collective_op(kernel) != nullptr;
}

Lane lane_of(const ir::ScheduledKernel& scheduled) {
  if (const ir::CollectiveAttrs* transfer = analytical::host_transfer(scheduled.kernel)) {
    if (transfer->slices > 1) return Lane::kSlices;
    return scheduled.kernel.opcode() == ir::Opcode::kSend ? Lane::kToHost : Lane::kHost;
  }
  if (ir::op_class(scheduled.kernel.opcode()) == ir::OpClass::kCollective) return Lane::kNetwork;
  if (!scheduled.asynchronous) return Lane::kCompute;
  if (crosses_devices(scheduled.kernel)) return Lane::kNetwork;
  return host_lane(scheduled.kernel).value_or(Lane::kDma);
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
      if (!answers[i - first]) continue;
      if (distinct.in_graph[i]) leave_out_gap(*answers[i - first], device);
      asked.distinct[i] = std::move(*answers[i - first]);
    }
  };
  base::parallel_for_batches(queries.size(), kBatch, jobs, ask_some);
  return asked;
}

Error no_model(const ir::Kernel& kernel, const hwdesc::Device& device) {
  return Error(
      "kernel {} ({}): no model for it on device {}; --unknown-op=skip counts it as zero and says "
      "so",
      kernel.name(), ir::name(kernel.opcode()), device.name);
}

SimulatedKernel simulated(const ir::ScheduledKernel& scheduled, ir::KernelId id,
                          const ir::Shared<Estimate>& answer) {
  SimulatedKernel kernel{.id = id,
                         .name = scheduled.kernel.name(),
                         .computation = scheduled.computation,
                         .op_name = std::string(scheduled.kernel.op_name()),
                         .opcode = scheduled.kernel.opcode(),
                         .multiplicity = scheduled.multiplicity,
                         .lane = lane_of(scheduled),
                         .estimate = answer ? answer : Estimate{},
                         .skipped = !answer};
  if (kernel.skipped) return kernel;
  const double time_s = kernel.estimate->time.value;
  if (!std::isfinite(time_s) || time_s < 0) {
    throw Error("kernel {} ({}): the model returned a non-finite time", kernel.name,
                ir::name(kernel.opcode));
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
    task.blocks = program.is_scheduled() && !scheduled.asynchronous;
    for (const ir::KernelId earlier : scheduled.waits_for) {
      task.waits_for.push_back(earlier.index());
    }
    if (scheduled.beside.valid()) task.beside = scheduled.beside.index();
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

struct KernelKind {
  ir::Fingerprint print;
  const ir::DeviceGroups* groups;  // of the kernel; null if none
  bool in_graph;
  friend bool operator<(const KernelKind& a, const KernelKind& b) {
    return std::tie(a.print, a.in_graph, a.groups->groups, a.groups->pairs) <
           std::tie(b.print, b.in_graph, b.groups->groups, b.groups->pairs);
  }
};

// The part of [start, end) covered by `busy`: ascending, disjoint spans.
Seconds overlap(const std::vector<Span>& busy, Seconds start, Seconds end) {
  auto at = std::ranges::upper_bound(busy, start, {}, &Span::end);
  Seconds sum;
  for (; at != busy.end() && at->start < end; ++at) {
    sum += std::min(end, at->end) - std::max(start, at->start);
  }
  return sum;
}

// Time until the host has launched the last kernel, from the first launch on.
Seconds launching_time(const ir::Program& program, const hwdesc::Device& device) {
  return std::max(program.host_launches() - 1, 0.0) * device.dispatch.host_launch;
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
  Simulation result{
      .program = program.name(),
      .device = device.name,
      .memory = program_memory(program, device),
      .host_dispatch = device.dispatch.host +
                       static_cast<double>(program.arguments()) * device.dispatch.host_argument,
      .roofs = machine_roofs(device),
      .devices = program.devices(),
      .tokens = program.tokens(),
      .slice_devices = slice_devices(device),
      .notes = {program.notes().begin(), program.notes().end()}};
  const Asked asked = ask(program, device, model, options.jobs);
  result.kernels.reserve(asked.which.size());
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < asked.which.size(); ++i) {
    const ir::ScheduledKernel& scheduled = program.kernels()[i];
    const ir::Shared<Estimate>& answer = asked.distinct[asked.which[i]];
    if (!answer && !options.skip_unknown) {
      throw no_model(scheduled.kernel, device);
    }
    result.kernels.push_back(simulated(scheduled, ir::KernelId(i), answer));
    result.time += result.kernels.back().total();
    skipped += result.kernels.back().skipped ? 1 : 0;
  }
  if (skipped > 0) {
    result.notes.push_back({"kernels skipped: no model for them, no time", skipped, true});
  }

  if (options.contents) add_contents(program, asked, result.kernels);
  result.interval = interval_of(asked, result.kernels);
  const Timeline timeline = schedule(tasks_of(program, result.kernels));
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    result.kernels[i].start = timeline.spans[i].start;
    result.kernels[i].end = timeline.spans[i].end;
  }
  result.timeline = timeline.makespan;
  result.device_time = result.time;
  result.host_launches = launching_time(program, device);
  result.time = std::max(result.time, result.host_launches);
  result.timeline = std::max(result.timeline, result.host_launches);
  result.communication = communication(program, result.kernels);
  result.energy = program_energy(result.kernels, result.timeline, device);
  return result;
}

void leave_out_gap(Estimate& estimate, const hwdesc::Device& device) {
  Seconds& overhead = estimate.bounds[static_cast<std::size_t>(analytical::Bound::kOverhead)];
  const Seconds gap =
      std::min({overhead, device.dispatch.kernel_launch, estimate.time - estimate.speed_of_light});
  if (gap.value <= 0) return;
  overhead = overhead - gap;
  estimate.time = estimate.time - gap;
  estimate.utilisation = estimate.speed_of_light / estimate.time;
  if (estimate.bound != analytical::Bound::kOverhead) {
    estimate.next_time = estimate.next_time - gap;
  } else if (overhead.value <= 0) {
    estimate.bound = estimate.next_bound;
  }
  if (auto& correction = estimate.correction) {
    for (Seconds* end : {&correction->analytical, &correction->low, &correction->high}) {
      *end = std::max(*end - gap, estimate.speed_of_light);
    }
  }
}

DistinctKernels distinct_kernels(const ir::Program& program, const hwdesc::Device& device) {
  static const ir::DeviceGroups kNone;
  const auto kernels = program.kernels();
  std::unordered_map<const void*, ir::Fingerprint> prints;  // by content, which kernels may share
  const bool placed = device.interconnect && device.interconnect->slice;
  DistinctKernels distinct;
  distinct.which.reserve(kernels.size());
  std::map<KernelKind, std::size_t> known;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ir::Kernel& kernel = kernels[i].kernel;
    const ir::DeviceGroups& groups = placed ? kernel.device_groups() : kNone;
    const auto [print, is_unseen] = prints.try_emplace(kernel.content());
    if (is_unseen) print->second = ir::fingerprint(kernel);
    const bool in_graph = kernels[i].graph >= 0;
    const auto [at, is_new] =
        known.emplace(KernelKind{print->second, &groups, in_graph}, distinct.kernels.size());
    if (is_new) {
      distinct.kernels.push_back(&kernel);
      distinct.in_graph.push_back(in_graph);
    }
    distinct.which.push_back(at->second);
  }
  return distinct;
}

std::string_view name(Lane lane) {
  static constexpr std::string_view kNames[kLaneCount] = {"compute", "dma",     "network",
                                                          "host",    "to_host", "slices"};
  return kNames[static_cast<std::size_t>(lane)];
}

Timeline schedule(std::span<const Task> tasks) {
  Timeline timeline;
  timeline.spans.resize(tasks.size());
  std::array<Seconds, kLaneCount> free{};         // end of the tasks issued so far, per lane
  std::vector<Seconds> not_before(tasks.size());  // from done_before edges
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    Seconds& lane_free = free[static_cast<std::size_t>(task.lane)];
    const Seconds issued = task.beside ? timeline.spans[*task.beside].start
                                       : free[static_cast<std::size_t>(Lane::kCompute)];
    Seconds start = std::max({issued, lane_free, not_before[i]});
    for (const std::size_t earlier : task.waits_for) {
      TC_CHECK(earlier < i, "a task may only wait for earlier ones");
      start = std::max(start, timeline.spans[earlier].end);
    }
    const Seconds end = start + task.duration;
    timeline.spans[i] = {start, end};
    lane_free = end;
    if (task.blocks) free[static_cast<std::size_t>(Lane::kCompute)] = end;
    timeline.makespan = std::max(timeline.makespan, end);
    if (task.done_before && *task.done_before > i && *task.done_before < tasks.size()) {
      not_before[*task.done_before] = std::max(not_before[*task.done_before], end);
    }
  }
  return timeline;
}

std::optional<double> slice_devices(const hwdesc::Device& device) {
  if (!device.interconnect || !device.interconnect->slice) return std::nullopt;
  const hwdesc::Slice& slice = *device.interconnect->slice;
  double devices = static_cast<double>(device.cores_per_chip) * slice.count;
  for (const std::int64_t side : hwdesc::slice_shape(slice.shape)) {
    devices *= static_cast<double>(side);
  }
  return devices;
}

std::optional<Communication> communication(const ir::Program& program,
                                           std::span<const SimulatedKernel> kernels) {
  std::vector<Span> busy;
  for (const SimulatedKernel& kernel : kernels) {
    if (kernel.lane == Lane::kCompute) busy.push_back({kernel.start, kernel.end});
  }
  std::optional<Communication> sum;
  for (const SimulatedKernel& kernel : kernels) {
    if (!crosses_devices(program.at(kernel.id).kernel)) continue;
    if (!sum) sum.emplace();
    sum->time += kernel.total();
    if (kernel.lane == Lane::kNetwork || kernel.lane == Lane::kSlices)
      sum->hidden += overlap(busy, kernel.start, kernel.end);
  }
  return sum;
}

Watts ProgramEnergy::average_power() const {
  return timeline.value > 0 ? total() / timeline : Watts{0};
}

std::optional<ProgramEnergy> program_energy(std::span<const SimulatedKernel> kernels,
                                            Seconds timeline, const hwdesc::Device& device) {
  if (!device.energy) return std::nullopt;
  ProgramEnergy sum{.idle = device.idle_power() * timeline,
                    .idle_power = device.idle_power(),
                    .power_limit = device.power_limit(),
                    .timeline = timeline};
  for (const SimulatedKernel& kernel : kernels) {
    if (kernel.skipped) continue;
    if (!kernel.estimate->energy) return std::nullopt;
    const analytical::LaunchEnergy& one = *kernel.estimate->energy;
    using Energy = analytical::LaunchEnergy;
    for (const auto part :
         {&Energy::compute, &Energy::memory, &Energy::on_chip, &Energy::network}) {
      sum.dynamic.*part += kernel.multiplicity * one.*part;
    }
    if (kernel.estimate->clock_factor < 1) ++sum.limited_kernels;
    sum.lowest_clock = std::min(sum.lowest_clock, kernel.estimate->clock_factor);
  }
  return sum;
}

ProgramMemory program_memory(const ir::Program& program, const hwdesc::Device& device) {
  const ir::MemoryUse& use = program.memory();
  std::optional<Bytes> host_capacity;
  if (device.host_link && device.host_link->capacity) {
    host_capacity = *device.host_link->capacity / device.cores_per_chip;
  }
  return {.peak = use.peak,
          .outputs = use.whole.outputs,
          .aliased = use.aliased,
          .at = use.at,
          .unsized = use.unsized,
          .capacity = device.memory.empty()
                          ? Bytes{0}
                          : device.main_memory().capacity - device.main_memory().reserved,
          .host = use.host,
          .host_capacity = host_capacity};
}

MachineRoofs machine_roofs(const hwdesc::Device& device) {
  MachineRoofs roofs;
  for (const auto& [dtype, passes] : device.matrix.passes) {
    const FlopsPerSecond rate = device.matrix_peak(dtype);
    if (rate.value > 0) roofs.peaks.push_back({"matrix", dtype, rate});
  }
  const FlopsPerSecond vector = device.vector_peak();
  if (vector.value > 0) roofs.peaks.push_back({"vector", "32-bit", vector});
  std::ranges::stable_sort(roofs.peaks, [](const ComputeRoof& a, const ComputeRoof& b) {
    return a.rate.value > b.rate.value;
  });
  for (const hwdesc::MemoryLevel& level : device.memory) {
    roofs.memory.push_back({level.name, level.bandwidth, level.peak_write(), level.capacity});
  }
  return roofs;
}

namespace {

// Peak of the matrix unit that MFU is told against: of 16-bit types where it has them.
std::optional<double> matrix_peak(const MachineRoofs& roofs) {
  for (const std::string_view dtype : {"bf16", "f16", "f32"}) {
    for (const ComputeRoof& peak : roofs.peaks) {
      if (peak.unit == "matrix" && peak.dtype == dtype) return peak.rate.value;
    }
  }
  return std::nullopt;
}

double total_of(const Simulation& run, double (*of)(const Estimate&)) {
  double sum = 0;
  for (const SimulatedKernel& kernel : run.kernels) {
    if (!kernel.skipped) sum += of(*kernel.estimate) * kernel.multiplicity;
  }
  return sum;
}

double flops_of(const Simulation& run) {
  return total_of(run, [](const Estimate& e) { return e.flops.value; });
}

double bytes_of(const Simulation& run) {
  return total_of(run, [](const Estimate& e) { return (e.hbm_read + e.hbm_write).value; });
}

std::optional<double> share(double work, std::optional<double> peak, Seconds time) {
  if (!peak || !(*peak > 0) || !(time.value > 0)) return std::nullopt;
  return work / (*peak * time.value);
}

}  // namespace

std::span<const ProgramNumber> work_numbers() {
  using Run = const Simulation&;
  static constexpr ProgramNumber kNumbers[] = {
      {"work_FLOP", [](Run run) -> std::optional<double> { return flops_of(run); }},
      {"main_memory_bytes", [](Run run) -> std::optional<double> { return bytes_of(run); }},
      {"mfu", [](Run run) { return share(flops_of(run), matrix_peak(run.roofs), run.timeline); }},
      {"main_memory_share",
       [](Run run) {
         const auto& levels = run.roofs.memory;
         return levels.empty() ? std::nullopt
                               : share(bytes_of(run), levels.front().read.value, run.timeline);
       }},
      {"tokens_per_s", [](Run run) -> std::optional<double> {
         if (!(run.tokens > 0 && run.timeline.value > 0)) return std::nullopt;
         return run.tokens / run.timeline.value;
       }}};
  return kNumbers;
}

std::span<const ProgramNumber> energy_numbers() {
  using Run = const Simulation&;
  static constexpr ProgramNumber kNumbers[] = {
      {"energy_J",
       [](Run run) { return number(run.energy, [](const auto& e) { return e.total().value; }); }},
      {"average_power_W", [](Run run) {
         return number(run.energy, [](const auto& e) { return e.average_power().value; });
       }}};
  return kNumbers;
}

std::span<const ProgramNumber> memory_numbers() {
  using Run = const Simulation&;
  static constexpr ProgramNumber kNumbers[] = {
      {"peak_memory_bytes",
       [](Run run) { return number(run.memory, [](const auto& m) { return m.peak.total(); }); }},
      {"memory_capacity_bytes",
       [](Run run) { return number(run.memory, [](const auto& m) { return m.capacity.value; }); }}};
  return kNumbers;
}

}  // namespace tilecast::sim
