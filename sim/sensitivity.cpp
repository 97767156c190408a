#include "sim/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analytical/analytical_model.h"
#include "analytical/layout_rules.h"
#include "analytical/read_numbers.h"
#include "base/error.h"
#include "base/parallel.h"

namespace tilecast::sim {
namespace {

using analytical::Bound;
constexpr double kInfinitelyFaster = 1e6;

// Times of all launches of each scheduled kernel, and their sum.
struct KernelTimes {
  KernelTimes() = default;
  explicit KernelTimes(const Simulation& run) {
    for (const SimulatedKernel& kernel : run.kernels) add(kernel.total());
  }
  void add(Seconds total) {
    totals.push_back(total);
    time += total;
  }
  std::vector<Seconds> totals;
  Seconds time;
};

// The program on variants of one device, rebuilt only if array layouts differ.
class Variants {
 public:
  Variants(const ir::LoadedModule& loaded, const ir::LoadOptions& load,
           const hwdesc::Device& device, const analytical::CostModel& model)
      : loaded_(loaded),
        load_(load),
        rules_(analytical::layout_rules(device)),
        built_(ir::program_for(loaded, rules_, load)),
        model_(model) {}

  [[nodiscard]] Simulation run(const hwdesc::Device& device) const {
    const ir::LayoutRules rules = analytical::layout_rules(device);
    if (rules == rules_) return simulate(built_.program, device, model_);
    const ir::DeviceProgram own = ir::program_for(loaded_, rules, load_);
    return simulate(own.program, device, model_);
  }

  // `base`: the simulation of the unchanged `device`. Not thread-safe.
  void compare_with(const Simulation& base, const hwdesc::Device& device) {
    distinct_ = distinct_kernels(built_.program, device);
    base_s_.resize(distinct_.kernels.size());
    for (std::size_t i = 0; i < distinct_.which.size(); ++i) {
      base_s_[distinct_.which[i]] = base.kernels[i].estimate->time;
    }
  }
  // Times on a machine that differs in the number at `path`: equal to run(), but estimates only
  // kernels that may change, and equal kernels once.
  [[nodiscard]] KernelTimes times(const hwdesc::Device& device, std::string_view path) const {
    if (analytical::layout_rules(device) != rules_) return KernelTimes(run(device));
    const bool physics = dynamic_cast<const analytical::AnalyticalModel*>(&model_) != nullptr;
    std::vector<analytical::KernelQuery> queries;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < distinct_.kernels.size(); ++i) {
      if (physics && !analytical::may_read(*distinct_.kernels[i], device, path)) continue;
      queries.push_back({*distinct_.kernels[i]});
      asked.push_back(i);
    }
    std::vector<Seconds> launch = base_s_;
    const auto answers = queries.empty() ? std::vector<std::optional<analytical::Estimate>>()
                                         : model_.estimate(queries, device);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!answers[i] || !std::isfinite(answers[i]->time.value)) throw Error("no time");
      analytical::Estimate answer = *answers[i];
      if (distinct_.in_graph[asked[i]]) leave_out_gap(answer, device);
      launch[asked[i]] = answer.time;
    }
    KernelTimes times;
    for (std::size_t i = 0; i < distinct_.which.size(); ++i) {
      times.add(launch[distinct_.which[i]] * built_.program.kernels()[i].multiplicity);
    }
    return times;
  }

 private:
  const ir::LoadedModule& loaded_;
  const ir::LoadOptions& load_;
  ir::LayoutRules rules_;
  ir::DeviceProgram built_;
  const analytical::CostModel& model_;
  DistinctKernels distinct_;
  std::vector<Seconds> base_s_;  // per launch, by distinct kernel
};

bool is_power_of_two(double value) {
  int exponent = 0;
  return value >= 2 && std::frexp(value, &exponent) == 0.5;
}

// The number one step up (factor > 1) or down; nullopt outside the schema's range.
std::optional<double> stepped(const hwdesc::DeviceNumber& number, double factor) {
  double value = number.value * factor;
  if (number.integer && is_power_of_two(number.value)) {
    value = number.value * (factor > 1 ? 2 : 0.5);
  } else if (number.integer) {
    value = std::round(value);
    if (value == number.value) value += factor > 1 ? 1 : -1;
  }
  if (value < number.low || value > number.high || value <= 0) return std::nullopt;
  return value;
}

// Kernels whose time changes, and the change of each total, by name.
struct Movement {
  std::size_t kernels = 0;
  std::string most;
  double most_s = 0;
};

Movement movement(const Simulation& before, const KernelTimes& after) {
  Movement moved;
  if (before.kernels.size() != after.totals.size()) {  // different layouts give different kernels
    moved.kernels = after.totals.size();
    return moved;
  }
  for (std::size_t i = 0; i < before.kernels.size(); ++i) {
    const double total_s = before.kernels[i].total().value;
    const double change = std::abs(after.totals[i].value - total_s);
    if (change <= 1e-12 * total_s) continue;
    ++moved.kernels;
    if (change <= moved.most_s) continue;
    moved.most_s = change;
    moved.most = before.kernels[i].name;
  }
  return moved;
}

// Fills one side of `entry`.
void vary(const Variants& variants, const hwdesc::DeviceSource& source, const Simulation& base,
          double factor, NumberSensitivity& entry, Movement& moved) {
  const std::optional<double> value = stepped(entry.number, factor);
  if (!value) return;
  try {
    const hwdesc::Device device =
        source.with({{entry.number.path, hwdesc::format_quantity(*value, entry.number.kind)}});
    const KernelTimes times = variants.times(device, entry.number.path);
    const double elasticity =
        std::log(times.time / base.time) / std::log(*value / entry.number.value);
    (factor > 1 ? entry.up : entry.down) = elasticity == 0 ? 0 : elasticity;  // avoids -0
    const Movement side = movement(base, times);
    moved.kernels = std::max(moved.kernels, side.kernels);
    if (side.most_s > moved.most_s) {
      moved.most_s = side.most_s;
      moved.most = side.most;
    }
  } catch (const Error&) {
    return;  // not a valid machine: no elasticity
  }
}

std::array<double, analytical::kBoundCount> bound_times(const Simulation& run) {
  std::array<double, analytical::kBoundCount> times{};
  for (const SimulatedKernel& kernel : run.kernels) {
    times[static_cast<std::size_t>(kernel.estimate->bound)] += kernel.total().value;
  }
  return times;
}

std::vector<LimitStep> limits(const Variants& variants, hwdesc::Device device,
                              const Simulation& base, std::size_t most) {
  std::vector<LimitStep> path;
  std::array<bool, analytical::kBoundCount> removed{};
  Simulation now = base;
  while (path.size() < most) {
    const auto times = bound_times(now);
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (removed[i] || times[i] <= 0 || (next && times[i] <= times[*next])) continue;
      if (without_bound(device, static_cast<Bound>(i))) next = i;
    }
    if (!next) break;
    removed[*next] = true;
    device = *without_bound(device, static_cast<Bound>(*next));
    Simulation then = variants.run(device);
    path.push_back({.bound = static_cast<Bound>(*next),
                    .share = times[*next] / now.time.value,
                    .time = then.time,
                    .kernels_moved = movement(now, KernelTimes(then)).kernels});
    now = std::move(then);
  }
  return path;
}

void scale(hwdesc::MemoryLevel& level) {
  level.bandwidth = level.bandwidth * kInfinitelyFaster;
  if (level.write_bandwidth) *level.write_bandwidth = *level.write_bandwidth * kInfinitelyFaster;
}

void remove_matrix(hwdesc::MatrixUnit& matrix, Hertz clock) {
  matrix.clock = matrix.clock.value_or(clock) * kInfinitelyFaster;
  if (matrix.limited_clock) matrix.limited_clock = *matrix.limited_clock * kInfinitelyFaster;
  matrix.fill = matrix.weight_load = Cycles{0};
}

void remove_vector(hwdesc::VectorUnit& vector) {
  vector.alus *= kInfinitelyFaster;
  vector.load_ports *= kInfinitelyFaster;
  vector.store_ports *= kInfinitelyFaster;
}

void remove_cross_lane(hwdesc::CrossLaneUnit& unit) {
  unit.elements_per_cycle *= kInfinitelyFaster;
  unit.reduce_elements_per_cycle *= kInfinitelyFaster;
  unit.irregular_elements_per_cycle *= kInfinitelyFaster;
  unit.latency = Cycles{0};
}

void remove_latency(hwdesc::Device& device) {
  for (hwdesc::MemoryLevel& level : device.memory) level.latency = Seconds{0};
  for (hwdesc::TransferEngine& engine : device.engines) engine.setup = Seconds{0};
  device.vector.latency = device.transcendental.latency = device.cross_lane.latency = Cycles{0};
}

void remove_overhead(hwdesc::Device& device) {
  for (hwdesc::TransferEngine& engine : device.engines) {
    engine.setup = engine.iteration_overhead = engine.descriptor = Seconds{0};
  }
  device.dispatch.kernel_launch = device.calibration.kernel_overhead = Seconds{0};
}

}  // namespace

double NumberSensitivity::size() const {
  return std::max(std::abs(up.value_or(0)), std::abs(down.value_or(0)));
}

bool NumberSensitivity::kink() const {
  constexpr double kShare = 0.1, kLeast = 0.01;
  if (!up || !down) return false;
  return std::abs(*up - *down) > std::max(kLeast, kShare * size());
}

std::optional<hwdesc::Device> without_bound(hwdesc::Device device, Bound bound) {
  hwdesc::MemoryLevel& main = device.memory.front();
  ++device.machine;  // not the machine for which a hybrid may have measurements
  switch (bound) {
    case Bound::kHbmRead:
      main.write_bandwidth = main.peak_write();
      main.write_efficiency = main.write_efficiency.value_or(main.efficiency);
      main.bandwidth = main.bandwidth * kInfinitelyFaster;
      return device;
    case Bound::kHbmWrite:
      main.write_bandwidth = main.peak_write() * kInfinitelyFaster;
      return device;
    case Bound::kMatrix:
      remove_matrix(device.matrix, device.clock);
      return device;
    case Bound::kVector:
      remove_vector(device.vector);
      return device;
    case Bound::kTranscendental:
      device.transcendental.per_cycle *= kInfinitelyFaster;
      device.transcendental.latency = Cycles{0};
      return device;
    case Bound::kCrossLane:
      remove_cross_lane(device.cross_lane);
      return device;
    case Bound::kOnChip:
      for (std::size_t i = 1; i < device.memory.size(); ++i) scale(device.memory[i]);
      return device;
    case Bound::kNetwork:
      if (!device.interconnect) return std::nullopt;
      device.interconnect->link_bandwidth = device.interconnect->link_bandwidth * kInfinitelyFaster;
      device.interconnect->latency = Seconds{0};
      return device;
    case Bound::kLatency:
      remove_latency(device);
      return device;
    case Bound::kOverhead:
      remove_overhead(device);
      return device;
    case Bound::kIssue:
    case Bound::kFillDrain:
      return std::nullopt;
  }
  return std::nullopt;
}

Sensitivity sensitivity(const ir::LoadedModule& program, const ir::LoadOptions& load,
                        const hwdesc::DeviceSource& source, const analytical::CostModel& model,
                        const SensitivityOptions& options) {
  TC_CHECK(options.step > 1, "a step goes somewhere");
  const hwdesc::Device device = source.with({});
  Variants variants(program, load, device, model);
  const Simulation base = variants.run(device);
  variants.compare_with(base, device);
  Sensitivity result{.program = base.program,
                     .file = program.file,
                     .device = base.device,
                     .time = base.time,
                     .kernels = base.kernels.size()};
  if (base.time.value <= 0) throw Error(program.file + ": the program takes no time");
  for (hwdesc::DeviceNumber& number : hwdesc::device_numbers(device)) {
    if (number.value <= 0 || number.path.starts_with("published.")) continue;
    result.numbers.push_back({.number = std::move(number)});
  }
  base::parallel_for(result.numbers.size() + 1, options.jobs, [&](std::size_t i) {
    if (i == 0) {
      result.path = limits(variants, device, base, options.path_steps);
      return;
    }
    NumberSensitivity& entry = result.numbers[i - 1];
    Movement moved;
    vary(variants, source, base, options.step, entry, moved);
    vary(variants, source, base, 1 / options.step, entry, moved);
    entry.kernels_moved = moved.kernels;
    entry.most_moved = moved.most;
  });
  std::ranges::stable_sort(result.numbers, std::ranges::greater(), &NumberSensitivity::size);
  return result;
}

}  // namespace tilecast::sim
