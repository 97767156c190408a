#include "analytical/row_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analytical/compute_units.h"
#include "analytical/distinct_traffic.h"
#include "analytical/simt_launch.h"
#include "analytical/transfer.h"

namespace tilecast::analytical {
namespace {

using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::Shape;

constexpr double kDigitBits = 8;
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

// `chunk`: keys that a worker holds. `by_step`: every step across chunks is a pass.
RowPasses bitonic_sort(const Op& op, const Shape& keys, const Rows& rows, double chunk,
                       bool by_step, const hwdesc::Device& device) {
  const double doublings = std::ceil(std::log2(rows.length / chunk));
  const double across = by_step ? doublings * (doublings + 1) / 2 : doublings;
  const double passes = 1 + doublings + across;
  const double elements = rows.count * rows.length;
  const hwdesc::VectorUnit& vector = device.vector;
  const double width = static_cast<double>(vector.lanes * vector.sublanes);
  const SortSteps steps = sort_steps(op, keys, width);
  const double workers = std::max(device.multiplexing.workers, 1);
  const double vector_cycles = elements * steps.all / (width * vector.alus * vector.efficiency);
  const double lane_cycles = elements * steps.in_register / device.cross_lane.elements_per_cycle;
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
  const bool sorts = kernel.opcode() == Opcode::kSort || kernel.opcode() == Opcode::kTopK;
  if (!sorts) return std::nullopt;
  const auto found = std::ranges::find(kernel.ops(), kernel.opcode(), &Op::opcode);
  if (found == kernel.ops().end()) return std::nullopt;
  const Shape& keys = kernel.op(found->operands[0]).shape;
  if (keys.rank() == 0 || ir::element_count(keys) == 0) return std::nullopt;
  const Rows rows = rows_of(kernel, *found);
  const bool on_gpu = device.execution == hwdesc::Execution::kSimt;
  const double capacity =
      (on_gpu ? worker_memory(device) : device.scratchpad()).capacity.value / (on_gpu ? 1 : 2);
  const double chunk = std::max(std::floor(capacity / rows.element_bytes), 2.0);
  if (rows.length <= chunk) return std::nullopt;
  if (rows.selected > 0 && rows.selected <= kSmallSelection) return selection(rows);
  if (on_gpu && rows.operands <= 2) return radix_sort(rows);
  return bitonic_sort(*found, keys, rows, chunk, on_gpu, device);
}

// Steps per element of the longest scan, along one dimension.
double scan_steps(const Kernel& kernel) {
  double most = 0;
  for (const Op& op : kernel.ops()) {
    const auto* attrs = op.get<ir::WindowAttrs>();
    if (op.opcode != Opcode::kReduceWindow || attrs == nullptr) continue;
    const Shape& input = kernel.op(op.operands[0]).shape;
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

}  // namespace

std::optional<RowPasses> row_passes(const Kernel& kernel, const hwdesc::Device& device) {
  if (device.execution == hwdesc::Execution::kCache) return std::nullopt;
  if (auto sort = sort_passes(kernel, device)) return sort;
  return scan_passes(kernel, device);
}

}  // namespace tilecast::analytical
