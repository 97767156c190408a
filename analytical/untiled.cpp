#include "analytical/untiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analytical/attention.h"
#include "analytical/collective.h"
#include "analytical/compute_units.h"
#include "analytical/kernel_body.h"
#include "analytical/product_type.h"
#include "analytical/simt_launch.h"
#include "analytical/transfer.h"
#include "analytical/xla_cpu.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::Op;
using ir::OpClass;
using ir::Opcode;
using ir::Shape;

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

// Loop counters and other scalars of a core with a scratchpad stay in the scalar core's memory.
bool is_scalar_work(const Kernel& kernel, const hwdesc::Device& device) {
  const auto scalar = [&](ir::OpId id) { return kernel.op(id).shape.is_scalar(); };
  return device.execution == hwdesc::Execution::kScratchpad &&
         std::ranges::all_of(kernel.parameters(), scalar) &&
         std::ranges::all_of(kernel.outputs(), scalar);
}

Accounting account_step(const hwdesc::Device& device, BoundMask removed) {
  PerBound parts{};
  parts[index_of(Bound::kOverhead)] =
      (device.dispatch.kernel_launch + device.engines.front().iteration_overhead).value;
  return sum_of_parts(parts, removed);
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

// Dense solvers of GPU libraries go from panel to panel. Each column of a panel needs the one
// before, through memory; a panel is factorised, solved for, and subtracted from the rest of the
// matrix (a third of it on average) by a kernel each.
constexpr double kPanelLaunches = 3, kRestOfMatrix = 1.0 / 3;

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
    const double special = device.transcendental.per_cycle * device.clock.value *
                           std::max(device.multiplexing.workers, 1);
    if (device.execution == hwdesc::Execution::kSimt && cost->steps > 0) {
      const double panels = std::ceil(cost->steps / cost->panel_steps);
      pass.launches = kPanelLaunches * panels;
      pass.latency_s = (cost->steps + pass.launches) * device.main_memory().latency.value;
      pass.read_bytes += panels * kRestOfMatrix * traffic.read.value;
      pass.write_bytes += panels * kRestOfMatrix * traffic.read.value;
    }
    pass.special_s = special > 0 && cost->in_turn ? cost->transcendentals / special : 0;
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

// Work on whole rows that takes passes over main memory and fits no tile: sorts and selections of
// rows longer than a worker's memory, scans of more than 128 elements.
//
// GPUs: a radix sort, least significant digit first, 8 bits per pass; keys are read once beforehand
// to count digits, keys and values are read and written once per pass (CUB's onesweep: Adinarayan
// and Merrill, arXiv:2206.01784); several rows: segmented_sort(). XLA:GPU calls CUB for rows with
// at most one value beside the key if that is faster than its own bitonic network, whose steps
// across blocks of 2,048 keys are launches. A selection of more than 16 keys sorts. Cores with a
// scratchpad: a bitonic network over chunks that fill half of it; every doubling beyond a chunk is
// one pass that combines distant keys and one within chunks. A selection of at most 16 keys reads
// the row once.
struct RowPasses {
  MemoryPasses passes;
  std::string algorithm;  // "radix sort, 4 passes over memory"
};

constexpr double kDigitBits = 8;
constexpr double kBlockKeys = 2048;     // of a block of XLA:GPU's own sorts: 1,024 threads
constexpr double kOnesweepRate = 0.68;  // of a copy's rate
constexpr std::int64_t kScannedAtOnce = 128;
constexpr std::int64_t kSmallSelection = 16;  // XLA:GPU has a one-pass kernel up to this

struct Rows {
  double count = 1, length = 1;
  double key_bytes = 0, element_bytes = 0;  // element_bytes: all operands together
  double selected = 0;                      // per row; 0: all are sorted
  std::size_t operands = 1;
};

Rows rows_of(const Kernel& kernel, const Op& op) {
  const Shape& keys = kernel.op(op.operands[0]).shape;
  const std::int64_t dim = op.dimensions.empty() ? keys.rank() - 1 : op.dimensions[0];
  Rows rows;
  rows.length = static_cast<double>(keys.dims[static_cast<std::size_t>(dim)]);
  rows.count = static_cast<double>(ir::element_count(keys)) / std::max(rows.length, 1.0);
  rows.key_bytes = ir::storage_bytes(keys.dtype);
  for (const ir::OpId id : op.operands) {
    rows.element_bytes += ir::storage_bytes(kernel.op(id).shape.dtype);
  }
  rows.operands = op.operands.size();
  if (op.opcode == Opcode::kTopK) {
    constexpr double kIndexBytes = 4;
    rows.element_bytes += kIndexBytes;
    rows.operands = 2;
    const Shape& values = op.shape.is_tuple() ? op.shape.elements.front() : op.shape;
    rows.selected = static_cast<double>(values.dims.back());
  }
  return rows;
}

RowPasses selection(const Rows& rows) {
  const double read = rows.count * rows.length * rows.key_bytes;
  const double written = rows.count * rows.selected * rows.element_bytes;
  return {{.read_bytes = read, .write_bytes = written}, "selection, one pass over memory"};
}

RowPasses radix_sort(const Rows& rows) {
  const double passes = rows.key_bytes * 8 / kDigitBits;
  const double keys = rows.count * rows.length;
  MemoryPasses moved{.count = passes + 1,
                     .read_bytes = keys * (passes * rows.element_bytes + rows.key_bytes),
                     .write_bytes = keys * passes * rows.element_bytes,
                     .rate = kOnesweepRate,
                     .launches = passes + 1};
  return {moved, fmt::format("radix sort, {} passes over memory", passes)};
}

// Several rows: a block sorts a row, whose digits it counts and whose keys it moves tile by tile,
// so that keys are read twice per pass. Each of both waits for its tile. Keys, values and ranks of
// two blocks fill the registers of a worker (DeviceSegmentedRadixSort: 192 threads of 39 words).
RowPasses segmented_sort(const Rows& rows, const hwdesc::Device& device) {
  constexpr double kBits = 6, kTileBytes = 192 * 39 * 4, kWaits = 2, kResident = 2;
  const double passes = std::ceil(rows.key_bytes * 8 / kBits);
  const double keys = rows.count * rows.length;
  const double tiles = std::ceil(rows.length * rows.key_bytes / kTileBytes);
  const double waves = std::ceil(rows.count / kResident / std::max(device.multiplexing.workers, 1));
  MemoryPasses moved{
      .count = passes,
      .read_bytes = keys * passes * (rows.element_bytes + rows.key_bytes),
      .write_bytes = keys * passes * rows.element_bytes,
      .rate = kOnesweepRate,
      .launches = passes,
      .latency_s = waves * passes * kWaits * tiles * device.main_memory().latency.value};
  return {moved, fmt::format("radix sort by rows, {} passes over memory", passes)};
}

// `chunk`: keys that a worker holds. `by_step`: every step across chunks is a pass.
RowPasses bitonic_sort(const Op& op, const Shape& keys, const Rows& rows, double chunk,
                       bool by_step, const hwdesc::Device& device) {
  const double doublings = std::ceil(std::log2(rows.length / chunk));
  const double across = by_step ? doublings * (doublings + 1) / 2 : doublings;
  const double passes = 1 + doublings + across;
  const double elements = rows.count * rows.length;
  const hwdesc::VectorUnit& vector = device.vector;
  const double width = static_cast<double>(vector.lanes * vector.sublanes);
  const SortWork work = sort_work(op, keys, device);
  const double workers = std::max(device.multiplexing.workers, 1);
  const double vector_cycles = elements * work.vector / (width * vector.alus * vector.efficiency);
  const double lane_cycles = elements * work.cross_lane / device.cross_lane.elements_per_cycle;
  const bool by_lanes = lane_cycles > vector_cycles;
  MemoryPasses moved{.count = passes,
                     .read_bytes = passes * elements * rows.element_bytes,
                     .write_bytes = passes * elements * rows.element_bytes,
                     .core_s = std::max(vector_cycles, lane_cycles) / workers / device.clock.value,
                     .core = by_lanes ? Bound::kCrossLane : Bound::kVector,
                     .launches = by_step ? passes : 1};
  return {moved, fmt::format("bitonic sort, {} passes over memory", passes)};
}

std::optional<RowPasses> sort_passes(const Kernel& kernel, const hwdesc::Device& device) {
  if (ir::op_class(kernel.opcode()) != OpClass::kSort) return std::nullopt;
  const auto found = std::ranges::find(kernel.ops(), kernel.opcode(), &Op::opcode);
  if (found == kernel.ops().end()) return std::nullopt;
  const Shape& keys = kernel.op(found->operands[0]).shape;
  if (keys.rank() == 0 || ir::element_count(keys) == 0) return std::nullopt;
  const Rows rows = rows_of(kernel, *found);
  const bool on_gpu = device.execution == hwdesc::Execution::kSimt;
  const double chunk =
      on_gpu
          ? kBlockKeys
          : std::max(std::floor(device.scratchpad().capacity.value / 2 / rows.element_bytes), 2.0);
  const bool fits = rows.length <= chunk;
  const bool selects = rows.selected > 0 && rows.selected <= kSmallSelection;
  if (selects && (on_gpu || !fits)) return selection(rows);
  if (fits) return std::nullopt;
  RowPasses network = bitonic_sort(*found, keys, rows, chunk, on_gpu, device);
  if (!on_gpu || rows.operands > 2) return network;
  RowPasses radix = rows.count > 1 ? segmented_sort(rows, device) : radix_sort(rows);
  const auto time_s = [&](const RowPasses& sorted) {
    return account_passes(sorted.passes, device, {}).total_s;
  };
  return time_s(radix) < time_s(network) ? radix : network;
}

// Steps per element of the longest scan, along one dimension.
double scan_steps(const Kernel& kernel) {
  double most = 0;
  for (const Op& op : kernel.ops()) {
    const auto* attrs = op.get<ir::WindowAttrs>();
    const Shape& input = op.operands.empty() ? op.shape : kernel.op(op.operands[0]).shape;
    if (op.opcode == Opcode::kScan && op.applied && ir::has(*op.applied, ir::Trait::kCommutes)) {
      const std::int64_t row = input.dims[static_cast<std::size_t>(op.dimensions.at(0))];
      if (row > kScannedAtOnce) most = std::max(most, std::log2(static_cast<double>(row)));
    }
    if (op.opcode != Opcode::kReduceWindow || attrs == nullptr) continue;
    for (std::size_t i = 0; i < attrs->window.size(); ++i) {
      const double steps = window_steps(attrs->window[i], input.dims[i]);
      const bool scans = input.dims[i] > kScannedAtOnce && steps > 1 &&
                         steps < static_cast<double>(attrs->window[i].size);
      if (scans) most = std::max(most, steps);
    }
  }
  return most;
}

std::optional<RowPasses> scan_passes(const Kernel& kernel, const hwdesc::Device& device) {
  const double steps = scan_steps(kernel);
  if (steps <= 0) return std::nullopt;
  const double count = device.execution == hwdesc::Execution::kSimt ? 2 : 3;
  const Traffic traffic = distinct_traffic(kernel, device);
  const hwdesc::VectorUnit& vector = device.vector;
  double elements = 0;
  for (const ir::OpId id : kernel.outputs()) {
    elements += static_cast<double>(ir::element_count(kernel.op(id).shape));
  }
  const double per_cycle = std::max(device.multiplexing.workers, 1) * vector.alus *
                           vector.efficiency * static_cast<double>(vector.lanes * vector.sublanes);
  const MemoryPasses moved{.count = count,
                           .read_bytes = count * traffic.read.value,
                           .write_bytes = count * traffic.write.value,
                           .core_s = elements * steps / per_cycle / device.clock.value,
                           .core = Bound::kVector,
                           .launches = count};
  return RowPasses{moved, fmt::format("scan, {} passes over memory", count)};
}

// XLA:CPU's sorts and selections: one comparison after the other, on one core.
std::optional<RowPasses> compared_rows(const Kernel& kernel, const hwdesc::Device& device) {
  if (!is_xla_cpu(device) || ir::op_class(kernel.opcode()) != OpClass::kSort) return std::nullopt;
  const auto found = std::ranges::find(kernel.ops(), kernel.opcode(), &Op::opcode);
  if (found == kernel.ops().end()) return std::nullopt;
  const Shape& keys = kernel.op(found->operands[0]).shape;
  if (keys.rank() == 0 || ir::element_count(keys) == 0) return std::nullopt;
  const Rows rows = rows_of(kernel, *found);
  const double cycles = sort_cycles({.count = rows.count,
                                     .length = rows.length,
                                     .selected = rows.selected,
                                     .operands = rows.operands,
                                     .integers = ir::is_integer(keys.dtype)});
  const Traffic traffic = distinct_traffic(kernel, device);
  const MemoryPasses moved{.read_bytes = traffic.read.value,
                           .write_bytes = traffic.write.value,
                           .core_s = cycles / device.clock.value,
                           .core = Bound::kVector};
  return RowPasses{moved, rows.selected > 0 ? "selection by a heap" : "merge sort"};
}

// nullopt if the kernel does no such work, and on machines with caches unless XLA:CPU compiles.
std::optional<RowPasses> row_passes(const Kernel& kernel, const hwdesc::Device& device) {
  if (device.execution == hwdesc::Execution::kCache) return compared_rows(kernel, device);
  if (auto sort = sort_passes(kernel, device)) return sort;
  return scan_passes(kernel, device);
}

}  // namespace

bool has_tiles(const Kernel& kernel, const hwdesc::Device& device) {
  return !is_collective(kernel) && !is_opaque(kernel) && !kernel.outputs().empty() &&
         !has_empty_result(kernel) && !is_scalar_work(kernel, device) &&
         host_link_time(kernel, device).value <= 0 && !row_passes(kernel, device);
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

Accounting account_passes(const MemoryPasses& passes, const hwdesc::Device& device,
                          BoundMask removed) {
  const MemoryPath memory =
      memory_path(device.main_memory()).without(removed, Bound::kHbmRead, Bound::kHbmWrite);
  PerBound busy{};  // of one pass
  busy[index_of(Bound::kHbmRead)] = passes.read_bytes / passes.count / memory.read / passes.rate;
  busy[index_of(Bound::kHbmWrite)] = passes.write_bytes / passes.count / memory.write / passes.rate;
  busy[index_of(passes.core)] = kept_s(removed, passes.core, passes.core_s / passes.count);
  const double special_s = kept_s(removed, Bound::kTranscendental, passes.special_s / passes.count);
  busy[index_of(Bound::kTranscendental)] = special_s;
  PipelineLoop loop;
  loop.path_s = memory.busy_s(busy[index_of(Bound::kHbmRead)], busy[index_of(Bound::kHbmWrite)]);
  loop.core_s = busy[index_of(passes.core)] + special_s;
  const double latency_s =
      passes.count * memory.latency_s + kept_s(removed, Bound::kLatency, passes.latency_s);
  const double launch_s =
      kept_s(removed, Bound::kOverhead, passes.launches * device.dispatch.kernel_launch.value);
  Accounting accounting;
  accounting.read_bytes = passes.read_bytes;
  accounting.write_bytes = passes.write_bytes;
  accounting.add_periods(loop, busy, passes.count, kMemoryPaths);
  accounting.add_alone(Bound::kLatency, latency_s);
  accounting.add_alone(Bound::kOverhead, launch_s);
  accounting.total_s = passes.count * steady_period_s(loop) + latency_s + launch_s;
  return accounting;
}

Algorithm untiled(const Kernel& kernel, const hwdesc::Device& device) {
  const auto launch = [&device](const CollectiveTime& cost, std::string name) {
    return Algorithm{std::move(name), [cost, &device](BoundMask removed) {
                       return account_launch(cost, device, removed);
                     }};
  };
  const auto passes = [&device](const MemoryPasses& moved, std::string name) {
    return Algorithm{std::move(name), [moved, &device](BoundMask removed) {
                       return account_passes(moved, device, removed);
                     }};
  };
  if (is_only_launched(kernel)) return launch({}, "zero-sized result: only the launch counts");
  if (is_collective(kernel)) {
    const CollectiveTime cost = collective_time(kernel, device);
    return launch(cost, cost.algorithm);
  }
  if (host_link_time(kernel, device).value > 0) {
    return passes(host_pass(kernel, device), host_flag(kernel, device));
  }
  if (const auto rows = row_passes(kernel, device)) return passes(rows->passes, rows->algorithm);
  if (auto fused = attention(kernel, device)) return *std::move(fused);
  if (auto written = kernel_body(kernel, device)) return *std::move(written);
  if (!is_opaque(kernel) && is_scalar_work(kernel, device)) {
    return {"", [&device](BoundMask removed) { return account_step(device, removed); }};
  }
  std::string what(ir::name(kernel.opcode()));
  const auto& cost = kernel.custom_call_cost();
  if (cost && cost->flops + cost->bytes_accessed > 0) {
    what += ": the operations that it states, at the unit's rate";
  } else if (ir::op_class(kernel.opcode()) == OpClass::kCustomCall) {
    what += ": opaque, bytes of operands and results only";
  } else {
    what.clear();
  }
  if (cost && !cost->note.empty()) what += "; " + cost->note;
  return passes(opaque_pass(kernel, device), what);
}

}  // namespace tilecast::analytical
