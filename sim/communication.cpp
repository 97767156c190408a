#include "sim/communication.h"

#include <algorithm>
#include <vector>

#include "analytical/collective.h"
#include "sim/simulator.h"

namespace tilecast::sim {
namespace {

bool crosses_devices(const ir::Kernel& kernel) {
  return ir::op_class(kernel.opcode()) == ir::OpClass::kCollective ||
         analytical::collective_op(kernel) != nullptr;
}

// The part of [start, end) covered by `busy`: ascending, disjoint spans.
Seconds overlap(const std::vector<Span>& busy, Seconds start, Seconds end) {
  auto at = std::ranges::upper_bound(busy, start, {}, &Span::end);
  Seconds sum;
  for (; at != busy.end() && at->start < end; ++at) {
    sum += std::min(end, at->end) - std::max(start, at->start);
  }
  return sum;
}

}  // namespace

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
    if (kernel.lane == Lane::kNetwork) sum->hidden += overlap(busy, kernel.start, kernel.end);
  }
  return sum;
}

}  // namespace tilecast::sim
