#include "analytical/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/collective.h"
#include "analytical/op_work.h"
#include "analytical/product_type.h"
#include "analytical/transfer.h"
#include "base/error.h"
#include "ir/array_elements.h"
#include "ir/counts/work_counts.h"

namespace tilecast::analytical {
namespace {

// For kernels without counts from an HLO module: one operation per element computed or reduced.
void count_elements(const ir::Kernel& kernel, const ir::Op& op, OperationCounts& counts) {
  switch (ir::op_class(op.opcode)) {
    case ir::OpClass::kElementwise:
      counts.vector += Flops{ir::array_elements(op.shape) * std::max(op.applied_flops, 1.0)};
      break;
    case ir::OpClass::kTranscendental:
      counts.transcendental += ir::array_elements(op.shape);
      break;
    case ir::OpClass::kReduction: {
      if (op.operands.empty()) break;
      const ir::Shape& input = kernel.op(op.operands[0]).shape;
      const double summed = ir::array_elements(input) * window_operations(op, input);
      counts.vector += Flops{summed * std::max(op.applied_flops, 1.0)};
      counts.transcendental += summed * op.applied_transcendentals;
      break;
    }
    default:
      break;
  }
}

Joules compute_energy(const OperationCounts& counts, const hwdesc::Device& device) {
  const hwdesc::Energy& energy = *device.energy;
  Joules sum = counts.vector.value * energy.vector + counts.transcendental * energy.transcendental;
  for (const auto& [dtype, flops] : counts.products) {
    sum += flops.value * device.product_energy(ir::name(dtype));
  }
  return sum;
}

// Bytes of arrays that stay in a level inside main memory.
Bytes bytes_kept_inside(const ir::Kernel& kernel, const hwdesc::Device& device) {
  Bytes sum;
  const auto add = [&](std::span<const ir::OpId> ids) {
    for (const ir::OpId id : ids) {
      const ir::Shape& shape = kernel.op(id).shape;
      if (shape.is_array() && is_resident(shape, device)) {
        sum += Bytes{static_cast<double>(ir::padded_bytes(shape))};
      }
    }
  };
  add(kernel.parameters());
  add(kernel.outputs());
  return sum;
}

Joules on_chip_energy(const Estimate& estimate, Bytes kept_inside, const hwdesc::Device& device) {
  Joules sum;
  Bytes outside = estimate.hbm_read + estimate.hbm_write;
  for (std::size_t level = 1; level < device.memory.size(); ++level) {
    const bool innermost = level + 1 == device.memory.size();
    const Bytes counted = level <= kInnerLevels ? estimate.inner_bytes[level - 1] : Bytes{0};
    Bytes inside = counted.value > 0 ? counted : outside;
    if (innermost) inside += kept_inside;
    sum += (outside + inside) * device.energy->memory.at(device.memory[level].name);
    outside = inside;
  }
  return sum;
}

struct Sent {
  Bytes through_memory, over_links;
};

// A collective reads what it sends and writes what it receives.
Sent sent_by(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (collective_op(kernel) == nullptr || running_collective_end(kernel, device)) return {};
  const Bytes payload = collective_payload(kernel, PayloadSize::kPadded);
  const Seconds on_links = collective_lower_bound(kernel, PayloadSize::kPadded, device);
  Sent sent{.through_memory = 2 * payload};
  if (on_links.value > 0) {
    const auto& net = *device.interconnect;
    sent.over_links = net.link_bandwidth * net.links * on_links / device.cores_per_chip;
  }
  return sent;
}

}  // namespace

OperationCounts operation_counts(const ir::Kernel& kernel, const hwdesc::Device& device) {
  OperationCounts counts;
  if (kernel.on_host()) return counts;
  if (const auto& cost = kernel.custom_call_cost()) {  // assumed to be products, as in the model
    const ProductType type = call_product_type(kernel, device);
    counts.transcendental = cost->transcendentals;
    counts.products.push_back({type.dtype, Flops{cost->flops * type.products}});
    return counts;
  }
  Flops products;
  for (const ir::Op& op : kernel.ops()) {
    if (ir::op_class(op.opcode) != ir::OpClass::kMatrix || op.operands.size() < 2) continue;
    const ir::Shape& lhs = kernel.op(op.operands[0]).shape;
    const ir::Shape& rhs = kernel.op(op.operands[1]).shape;
    const Flops flops{ir::matrix_flops(op.opcode, op.attrs, lhs, rhs, op.shape)};
    const ProductType type = product_type(kernel, op, device);
    counts.products.push_back({type.dtype, flops * type.products});
    products += flops;
  }
  const bool windows = std::ranges::any_of(kernel.ops(), [](const ir::Op& op) {
    return op.opcode == ir::Opcode::kReduceWindow;  // XLA counts each window from scratch
  });
  const ir::WorkCounts& work = kernel.work();
  if (!windows && (work.flops > 0 || work.transcendentals > 0)) {
    counts.vector = std::max(Flops{work.flops} - products, Flops{0});
    counts.transcendental = std::max(0.0, static_cast<double>(work.transcendentals));
  } else {
    for (const ir::Op& op : kernel.ops()) count_elements(kernel, op, counts);
  }
  return counts;
}

std::optional<LaunchEnergy> launch_energy(const ir::Kernel& kernel, const hwdesc::Device& device,
                                          const Estimate& estimate) {
  if (!device.energy) return std::nullopt;
  const Sent sent = sent_by(kernel, device);
  const Bytes memory = estimate.hbm_read + estimate.hbm_write + sent.through_memory;
  return LaunchEnergy{
      .compute = compute_energy(operation_counts(kernel, device), device) +
                 device.clock_power() * estimate.time,
      .memory = memory * device.energy->memory.at(device.main_memory().name),
      .on_chip = on_chip_energy(estimate, bytes_kept_inside(kernel, device), device),
      .network = sent.over_links * device.energy->network};
}

Watts average_power(const Estimate& estimate, const hwdesc::Device& device) {
  TC_CHECK(estimate.energy && estimate.time.value > 0, "power needs energy and time");
  return estimate.energy->total() / estimate.time + device.idle_power();
}

namespace {

constexpr int kHalvings = 24;  // of the clock interval: down to 6e-8 of it

// Energy at `factor` x the clock in `time`, given the launch at the described clock.
LaunchEnergy scaled_energy(const Estimate& full, const hwdesc::Device& device, double factor,
                           Seconds time) {
  const double core = std::pow(factor, device.energy->clock_exponent - 1);
  const Joules operations = full.energy->compute - device.clock_power() * full.time;
  LaunchEnergy energy = *full.energy;
  energy.compute = core * (operations + factor * (device.clock_power() * time));
  energy.on_chip = core * energy.on_chip;
  return energy;
}

}  // namespace

hwdesc::Device at_clock(hwdesc::Device device, double factor) {
  device.clock = factor * device.clock;
  if (device.matrix.clock) device.matrix.clock = factor * *device.matrix.clock;
  for (std::size_t i = 1; i < device.memory.size(); ++i) {
    hwdesc::MemoryLevel& level = device.memory[i];
    level.bandwidth = factor * level.bandwidth;
    if (level.write_bandwidth) level.write_bandwidth = factor * *level.write_bandwidth;
    level.latency = level.latency / factor;
  }
  return device;
}

Estimate hold_to_power_limit(Estimate full, const hwdesc::Device& device,
                             const std::function<Estimate(const hwdesc::Device&)>& estimate_on) {
  const std::optional<Watts> limit = device.power_limit();
  if (!limit || !full.energy || full.time.value <= 0) return full;
  if (!device.limits_power_of(full.time)) return full;
  if (average_power(full, device) <= *limit) return full;
  const auto at = [&](double factor) {
    Estimate slower = estimate_on(at_clock(device, factor));
    slower.model = full.model;
    slower.flops = full.flops;
    slower.speed_of_light = full.speed_of_light;
    slower.flags = full.flags;
    slower.time = std::max(slower.time, full.time);
    slower.energy = scaled_energy(full, device, factor, slower.time);
    slower.clock_factor = factor;
    return slower;
  };
  double low = kLowestClock;
  double high = 1;
  Estimate held = at(low);
  if (average_power(held, device) <= *limit) {
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      Estimate between = at(middle);
      const bool allowed = average_power(between, device) <= *limit;
      (allowed ? low : high) = middle;
      if (allowed) held = std::move(between);
    }
  } else {
    // Pauses: clocks stop and only idle power is drawn.
    held.time = held.energy->total() / (*limit - device.idle_power());
  }
  held.flags.push_back(
      fmt::format("power limit {:g} W: the clock is lowered", device.energy->power_limit->value));
  return held;
}

}  // namespace tilecast::analytical
