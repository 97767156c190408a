#include "analytical/roofline.h"

#include <algorithm>
#include <utility>

#include "analytical/accounting.h"
#include "analytical/analytical_model.h"
#include "analytical/collective.h"
#include "analytical/energy.h"
#include "analytical/product_type.h"
#include "analytical/transfer.h"
#include "analytical/untiled.h"
#include "analytical/winograd.h"
#include "base/error.h"

namespace tilecast::analytical {
namespace {

using ir::Op;
using ir::OpClass;

struct Work {
  Flops flops;
  Seconds time;
};

struct Products {
  double flops = 0;
  ProductType type;
};

// Products of a dot, convolution, solver or transform; nullopt for other ops.
std::optional<Products> products_of(const ir::Kernel& kernel, const Op& op,
                                    const hwdesc::Device& device) {
  const OpClass kind = ir::op_class(op.opcode);
  const bool multiplies = kind == OpClass::kMatrix && op.operands.size() >= 2;
  const bool solves = kind == OpClass::kLinearAlgebra && !op.operands.empty();
  if (!multiplies && !solves) return std::nullopt;
  const ir::Shape& a = kernel.op(op.operands[0]).shape;
  const ir::Shape& b = kernel.op(op.operands[op.operands.size() > 1 ? 1 : 0]).shape;
  if (multiplies) {
    return Products{ir::matrix_flops(op.opcode, op.attrs, a, b, op.shape),
                    product_type(kernel, op, device)};
  }
  ProductType type = full_product_type(a.dtype, device);
  if (op.opcode == ir::Opcode::kFft) {  // counted in real operations; butterflies run on the lanes
    const ProductType real = full_product_type(ir::DType::kF32, device);
    type = product_peak(real, device) > product_peak({}, device) ? real : ProductType{};
  }
  return Products{ir::linear_algebra_flops(op.opcode, op.attrs, a, b), std::move(type)};
}

Work matrix_work(const ir::Kernel& kernel, const std::vector<double>& needed,
                 const hwdesc::Device& device) {
  Work work;
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    const auto products = products_of(kernel, kernel.ops()[i], device);
    if (!products) continue;
    const Flops flops{needed[i] * products->flops};
    const FlopsPerSecond peak = product_peak(products->type, device);
    work.flops += flops;
    if (peak.value > 0) work.time += flops / peak;
  }
  return work;
}

// Conversions are part of loads and stores on some machines, so they do not count towards a roof.
bool makes_vector_roof(const Op& op) {
  return ir::op_class(op.opcode) == OpClass::kElementwise &&
         ir::arithmetic(op.opcode) != ir::Arithmetic::kConversion &&
         op.opcode != ir::Opcode::kBitcastConvert && op.opcode != ir::Opcode::kMap &&
         op.shape.is_array();
}

Work vector_work(const ir::Kernel& kernel, const std::vector<double>& needed,
                 const hwdesc::Device& device) {
  Work work;
  const FlopsPerSecond peak = device.vector_peak();
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    const Op& op = kernel.ops()[i];
    if (!makes_vector_roof(op)) continue;
    const double count = needed[i] * static_cast<double>(ir::element_count(op.shape));
    work.flops += Flops{count};
    const auto cost = device.vector.op_cycles.find(std::string(ir::name(op.opcode)));
    const double per_element = cost == device.vector.op_cycles.end() ? 1 : cost->second;
    const double packing =
        ir::bits(op.shape.dtype) <= 16 ? std::max(1.0, device.vector.packing) : 1;
    if (peak.value > 0) work.time += Flops{count * per_element / packing} / peak;
  }
  return work;
}

struct Roofs {
  Traffic traffic;
  Flops flops;
  BoundVector bounds{};
  Seconds memory;  // reads and writes together
  bool opaque = false;

  [[nodiscard]] Seconds highest() const {
    Seconds time = memory;
    for (const Bound b : {Bound::kMatrix, Bound::kVector, Bound::kNetwork}) {
      time = std::max(time, bounds[index_of(b)]);
    }
    return time;
  }
};

void set_memory_roof(const hwdesc::Device& device, Roofs& roofs) {
  const hwdesc::MemoryLevel& memory = device.main_memory();
  const Seconds read = roofs.traffic.read / memory.bandwidth;
  const Seconds write = roofs.traffic.write / memory.peak_write();
  roofs.bounds[index_of(Bound::kHbmRead)] = read;
  roofs.bounds[index_of(Bound::kHbmWrite)] = write;
  roofs.memory = memory.full_duplex ? std::max(read, write) : read + write;
  if (device.execution == hwdesc::Execution::kCache) {
    const MemoryPath path{.read = memory.bandwidth.value,
                          .write = memory.peak_write().value,
                          .full_duplex = memory.full_duplex};
    const double saved_s =
        saved_beside_s(path, roofs.traffic.read.value, roofs.traffic.write.value);
    roofs.memory = Seconds{roofs.memory.value - saved_s};
  }
}

// A custom call that states its cost: those FLOPs, and half the bytes each way.
void set_custom_call_roofs(const ir::Kernel& kernel, const hwdesc::Device& device, Roofs& roofs) {
  const ir::CustomCallCost& cost = *kernel.custom_call_cost();
  const Bytes half{std::max(0.0, cost.bytes_accessed) / 2};
  roofs.traffic = half.value > 0 ? Traffic{half, half} : distinct_traffic(kernel, device);
  roofs.flops = Flops{std::max(0.0, cost.flops)};
  const FlopsPerSecond peak = product_peak(call_product_type(kernel, device), device);
  if (peak.value > 0) roofs.bounds[index_of(Bound::kMatrix)] = roofs.flops / peak;
}

Roofs roofs_of(const ir::Kernel& kernel, const hwdesc::Device& device) {
  if (device.memory.empty()) {
    throw Error("device " + device.name + ": memory: got no level, expected main memory");
  }
  Roofs roofs;
  if (const std::optional<Seconds> end = running_collective_end(kernel, device)) {
    roofs.bounds[index_of(Bound::kNetwork)] = *end;
    set_memory_roof(device, roofs);
    return roofs;
  }
  const auto& custom = kernel.custom_call_cost();
  roofs.opaque = !custom && std::any_of(kernel.ops().begin(), kernel.ops().end(), [](const Op& op) {
    return op.opcode == ir::Opcode::kCustomCall;
  });
  if (kernel.on_host()) {
    roofs.traffic = {};
  } else if (custom) {
    set_custom_call_roofs(kernel, device, roofs);
  } else {
    const std::vector<double> needed = needed_shares(kernel);
    const Work matrix = matrix_work(kernel, needed, device);
    const Work vector = vector_work(kernel, needed, device);
    roofs.traffic = distinct_traffic(kernel, device);
    roofs.flops = matrix.flops + vector.flops;
    roofs.bounds[index_of(Bound::kMatrix)] = matrix.time;
    roofs.bounds[index_of(Bound::kVector)] = vector.time;
  }
  roofs.bounds[index_of(Bound::kNetwork)] = host_link_time(kernel, device);
  if (collective_op(kernel) != nullptr) {
    roofs.bounds[index_of(Bound::kNetwork)] =
        collective_lower_bound(kernel, PayloadSize::kUnpadded, device);
  }
  set_memory_roof(device, roofs);
  return roofs;
}

Estimate estimate_of(const Roofs& roofs) {
  Estimate e;
  e.time = e.speed_of_light = roofs.highest();
  e.bounds = roofs.bounds;
  const bool reads_more = roofs.traffic.read >= roofs.traffic.write;
  std::array<std::pair<Seconds, Bound>, 4> roof{{
      {roofs.memory, reads_more ? Bound::kHbmRead : Bound::kHbmWrite},
      {roofs.bounds[index_of(Bound::kMatrix)], Bound::kMatrix},
      {roofs.bounds[index_of(Bound::kVector)], Bound::kVector},
      {roofs.bounds[index_of(Bound::kNetwork)], Bound::kNetwork},
  }};
  std::stable_sort(roof.begin(), roof.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  e.bound = roof[0].second;
  e.next_bound = roof[1].second;
  e.next_time = roof[1].first;
  e.hbm_read = roofs.traffic.read;
  e.hbm_write = roofs.traffic.write;
  e.flops = roofs.flops;
  e.utilisation = e.time.value > 0 ? 1 : 0;
  e.model = "roofline";
  if (roofs.opaque) e.flags.emplace_back("custom-call: bytes only");
  return e;
}

}  // namespace

std::vector<std::optional<Estimate>> RooflineModel::estimate(std::span<const KernelQuery> queries,
                                                             const hwdesc::Device& device) const {
  std::vector<std::optional<Estimate>> answers;
  answers.reserve(queries.size());
  for (const KernelQuery& query : queries) {
    Estimate estimate = estimate_of(roofs_of(query.kernel, device));
    estimate.energy = launch_energy(query.kernel, device, estimate);
    answers.emplace_back(std::move(estimate));
  }
  return answers;
}

Seconds speed_of_light(const ir::Kernel& kernel, const hwdesc::Device& device) {
  Roofs roofs = roofs_of(kernel, device);
  if (device.execution == hwdesc::Execution::kSimt) {
    roofs.bounds[index_of(Bound::kMatrix)] =
        roofs.bounds[index_of(Bound::kMatrix)] * least_multiplications(kernel);
  }
  return roofs.highest();
}

namespace {

// Resources other than main memory.
constexpr Bound kResources[] = {Bound::kMatrix,    Bound::kVector, Bound::kTranscendental,
                                Bound::kCrossLane, Bound::kOnChip, Bound::kNetwork};

struct Busy {
  Bound bound;
  Seconds time;
};

// Reads and writes of main memory are one resource where they share its path.
std::vector<Busy> longest_first(const BoundVector& bounds, const hwdesc::Device& device) {
  const Seconds read = bounds[index_of(Bound::kHbmRead)];
  const Seconds write = bounds[index_of(Bound::kHbmWrite)];
  const double memory_s = memory_path(device.main_memory()).busy_s(read.value, write.value);
  std::vector<Busy> busy = {
      {read >= write ? Bound::kHbmRead : Bound::kHbmWrite, Seconds{memory_s}}};
  for (const Bound bound : kResources) busy.push_back({bound, bounds[index_of(bound)]});
  std::ranges::stable_sort(busy, std::greater<>(), &Busy::time);
  return busy;
}

// The same answer without the latencies and overheads that a pipeline adds.
Estimate bottleneck_of(Estimate e, const hwdesc::Device& device) {
  for (const Bound beside : {Bound::kIssue, Bound::kLatency, Bound::kFillDrain, Bound::kOverhead}) {
    e.bounds[index_of(beside)] = Seconds{0};
  }
  const std::vector<Busy> busy = longest_first(e.bounds, device);
  e.time = std::max(busy[0].time, e.speed_of_light);
  e.bound = busy[0].bound;
  e.next_bound = busy[1].bound;
  e.next_time = busy[1].time;
  e.utilisation = e.time.value > 0 ? e.speed_of_light / e.time : 1;
  e.model = "bottleneck";
  return e;
}

Estimate fastest_bottleneck(const KernelAnalysis& analysis, const hwdesc::Device& device) {
  Estimate best = bottleneck_of(analysis.estimate_best(), device);
  if (!analysis.tileable() || analysis.compiler_tile()) return best;
  for (const TileConfig& tile : analysis.tiles()) {
    const auto answer = analysis.estimate(tile);
    const auto* estimate = std::get_if<Estimate>(&answer);
    if (estimate == nullptr) continue;
    Estimate e = bottleneck_of(*estimate, device);
    if (e.time < best.time) best = std::move(e);
  }
  return best;
}

}  // namespace

std::vector<std::optional<Estimate>> BottleneckModel::estimate(std::span<const KernelQuery> queries,
                                                               const hwdesc::Device& device) const {
  return answer_each(
      queries, device,
      [&](const KernelAnalysis& analysis, const KernelQuery& query) -> std::optional<Estimate> {
        if (query.tile == nullptr) return fastest_bottleneck(analysis, device);
        const auto answer = analysis.estimate(*query.tile);
        const auto* estimate = std::get_if<Estimate>(&answer);
        return estimate ? std::optional(bottleneck_of(*estimate, device)) : std::nullopt;
      });
}

}  // namespace tilecast::analytical
