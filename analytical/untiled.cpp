#include "analytical/untiled.h"

#include <algorithm>
#include <string>

#include "analytical/collective.h"
#include "analytical/distinct_traffic.h"
#include "analytical/product_type.h"
#include "analytical/row_passes.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::OpClass;
using ir::Opcode;

bool is_collective(const Kernel& kernel) {
  return collective_op(kernel) != nullptr;
}

// Kernels without a known loop nest: opaque, or not running on this core.
bool is_opaque(const Kernel& kernel) {
  const OpClass work = ir::op_class(kernel.opcode());
  return work == OpClass::kCustomCall || work == OpClass::kHost || work == OpClass::kControl ||
         work == OpClass::kAsyncDone || work == OpClass::kFree ||
         kernel.opcode() == Opcode::kCopyStart;
}

// A launch plus a collective; with an empty `cost`, only the launch.
Accounting account_launch(const CollectiveTime& cost, const hwdesc::Device& device,
                          BoundMask removed) {
  PerBound parts{};
  parts[index_of(Bound::kNetwork)] = cost.bandwidth_part.value;
  parts[index_of(Bound::kLatency)] = cost.latency_part.value;
  parts[index_of(Bound::kOverhead)] = device.dispatch.kernel_launch.value;
  return sum_of_parts(parts, removed);
}

// One pass over main memory and, if the dump states them, the operations at the unit's peak.
MemoryPasses opaque_pass(const Kernel& kernel, const hwdesc::Device& device) {
  const Traffic traffic = distinct_traffic(kernel, device);
  MemoryPasses pass{.read_bytes = traffic.read.value, .write_bytes = traffic.write.value};
  if (const auto& cost = kernel.custom_call_cost()) {
    if (cost->bytes_accessed > 0) {
      pass.read_bytes = cost->bytes_accessed;
      pass.write_bytes = 0;
    }
    const ProductType type = call_product_type(kernel, device);
    const double efficiency = type.on_unit() ? device.matrix.efficiency : device.vector.efficiency;
    const double peak = product_peak(type, device).value * efficiency;
    pass.core_s = peak > 0 ? cost->flops / peak : 0;
    pass.core = type.on_unit() ? Bound::kMatrix : Bound::kVector;
  }
  return pass;
}

// Host-link time beside main-memory traffic; for computations on the host only the transfers.
MemoryPasses host_pass(const Kernel& kernel, const hwdesc::Device& device) {
  const Traffic traffic = distinct_traffic(kernel, device);
  return {.read_bytes = traffic.read.value,
          .write_bytes = traffic.write.value,
          .core_s = host_link_time(kernel, device).value,
          .core = Bound::kNetwork};
}

MemoryPasses passes_of_untiled(const Kernel& kernel, const hwdesc::Device& device) {
  if (host_link_time(kernel, device).value > 0) return host_pass(kernel, device);
  const auto rows = row_passes(kernel, device);
  return rows ? rows->passes : opaque_pass(kernel, device);
}

std::string host_flag(const Kernel& kernel, const hwdesc::Device& device) {
  std::string flag = kernel.on_host()
                         ? "computed on the host: its transfers count, its computation "
                           "does not"
                         : "over the host link";
  if (!device.host_link) flag += " (not described: taken as PCIe 3.0 x16)";
  return flag;
}

bool is_only_launched(const Kernel& kernel) {
  return has_empty_result(kernel) && !kernel.outputs().empty();
}

}  // namespace

bool has_tiles(const Kernel& kernel, const hwdesc::Device& device) {
  return !is_collective(kernel) && !is_opaque(kernel) && !kernel.outputs().empty() &&
         !has_empty_result(kernel) && host_link_time(kernel, device).value <= 0 &&
         !row_passes(kernel, device);
}

Seconds host_link_time(const Kernel& kernel, const hwdesc::Device& device) {
  const Traffic traffic = host_traffic(kernel, device);
  const Bytes bytes = traffic.read + traffic.write;
  if (bytes.value <= 0) return {};
  const hwdesc::HostLink link = device.host_link.value_or(
      hwdesc::HostLink{.bandwidth = BytesPerSecond{16e9}, .latency = Seconds{1e-5}});
  return link.latency + bytes / link.bandwidth * device.cores_per_chip;
}

bool has_empty_result(const Kernel& kernel) {
  return std::all_of(kernel.outputs().begin(), kernel.outputs().end(), [&](ir::OpId id) {
    const ir::Shape& shape = kernel.op(id).shape;
    return shape.is_array() && ir::element_count(shape) == 0;
  });
}

Accounting account_untiled(const Kernel& kernel, const hwdesc::Device& device, BoundMask removed) {
  if (is_only_launched(kernel)) return account_launch({}, device, removed);
  if (is_collective(kernel)) {
    return account_launch(collective_time(kernel, device), device, removed);
  }
  return account_passes(passes_of_untiled(kernel, device), device, removed);
}

Estimate untiled_estimate(const Kernel& kernel, const hwdesc::Device& device) {
  Estimate estimate =
      explained([&](BoundMask removed) { return account_untiled(kernel, device, removed); });
  const std::string what(ir::name(kernel.opcode()));
  if (is_only_launched(kernel)) {
    estimate.flags.push_back("zero-sized result: only the launch counts");
  } else if (is_collective(kernel)) {
    estimate.flags.push_back(collective_time(kernel, device).algorithm);
  } else if (host_link_time(kernel, device).value > 0) {
    estimate.flags.push_back(host_flag(kernel, device));
  } else if (const auto rows = row_passes(kernel, device)) {
    estimate.flags.push_back(rows->algorithm);
  } else if (kernel.custom_call_cost()) {
    estimate.flags.push_back(what + ": the operations that it states, at the unit's rate");
  } else if (ir::op_class(kernel.opcode()) == OpClass::kCustomCall) {
    estimate.flags.push_back(what + ": opaque, bytes of operands and results only");
  }
  return estimate;
}

}  // namespace tilecast::analytical
