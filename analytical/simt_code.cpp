// SimtModel: fusions whose code the file states (ir::GpuCode).
//
// Loops: blocks of warps_per_block warps in memory order of the results, up to four per thread once
// every thread that the machine holds has one. Tiles (Triton): a thread keeps its share of what
// the tile needs after each reduction in registers, which bounds the threads per worker. Requests
// in flight bound the rate of main memory (Little's law): with m its time at the full rate and w
// the time at bytes in flight / latency, hypot(m, w). Warps start one after the other
// (Multiplexing::warp_start).
#include <algorithm>
#include <bit>
#include <cmath>

#include "analytical/simt_model.h"
#include "base/math.h"
#include "ir/array_elements.h"

namespace tilecast::analytical {
namespace {

using Emitter = ir::GpuCode::Emitter;

constexpr double kLoopResults = 4;           // of a thread (XLA:GPU's largest unrolling)
constexpr double kBytesInFlight = 2.0 * 16;  // of a thread: two loads of the widest kind
constexpr double kReductionLoads = 4;        // in flight of a thread that reduces
constexpr double kRegisterBytes = 4;

double threads_of_worker(const hwdesc::Multiplexing& machine) {
  return static_cast<double>(machine.max_resident) * machine.warps_per_block * machine.warp_lanes;
}

// XLA:GPU computes one result per thread beside these.
bool is_not_unrolled(ir::Opcode opcode) {
  switch (opcode) {
    case ir::Opcode::kReduceWindow:
    case ir::Opcode::kSort:
    case ir::Opcode::kDot:
    case ir::Opcode::kSin:
    case ir::Opcode::kCos:
    case ir::Opcode::kTan:
    case ir::Opcode::kPower:
    case ir::Opcode::kAtan2:
      return true;
    default:
      return false;
  }
}

// Elements of a thread of XLA:GPU's kernels that are written around a transpose, a reduction or a
// scatter: four warps transpose a square whose sides are 128 bytes; up to 16 elements are reduced
// by a thread (as launches of 128 to 1,024 threads in profiles of such kernels).
double elements_of_thread(const ir::Kernel& kernel) {
  constexpr double kSideBytes = 128, kThreads = 128, kReduced = 16;
  double row = 0;
  for (const ir::Op& op : kernel.ops()) {
    if (op.opcode == ir::Opcode::kTranspose) {
      const double side = kSideBytes / ir::storage_bytes(op.shape.dtype);
      return side * side / kThreads;
    }
    if (op.opcode != ir::Opcode::kReduce) continue;
    const ir::Shape& result = op.shape.is_tuple() ? op.shape.elements.front() : op.shape;
    row = std::max(row, ir::array_elements(kernel.op(op.operands[0]).shape) /
                            std::max(ir::array_elements(result), 1.0));
  }
  return row > 0 ? std::clamp(row, 1.0, kReduced) : kLoopResults;
}

// Bytes that a thread loads at once for a reduction: two neighbours along a row, else one element.
double load_bytes(const ir::Kernel& kernel, const ir::Op& reduction) {
  const ir::OpId source = unconverted(kernel, reduction.operands[0]);
  const ir::Shape& shape = kernel.op(source).shape;
  const ir::Shape& reduced = kernel.op(reduction.operands[0]).shape;
  const ir::Dims order = physical_order(reduced);
  const bool along_row = !order.empty() && std::ranges::find(reduction.dimensions, order.back()) !=
                                               reduction.dimensions.end();
  return (along_row ? 2 : 1) * ir::storage_bytes(shape.dtype);
}

}  // namespace

void SimtModel::read_code(const ir::Kernel& kernel) {
  code_ = kernel.gpu_code();
  if (!code_) return;
  kept_bytes_ = kept_over_reductions(kernel);
  double elements = 1, results = 0;
  for (const Loop& loop : space_.loops) elements *= static_cast<double>(loop.size);
  for (const ir::OpId id : kernel.outputs()) {
    results = std::max(results, ir::array_elements(kernel.op(id).shape));
  }
  rows_in_result_ = results >= elements;
  in_flight_ = kBytesInFlight;
  hero_threads_ = elements / elements_of_thread(kernel);
  for (const ir::Op& op : kernel.ops()) {
    if (code_->emitter != Emitter::kHero || op.opcode != ir::Opcode::kReduce) continue;
    in_flight_ = std::min(in_flight_, kReductionLoads * load_bytes(kernel, op));
  }
  unrolls_ = std::ranges::none_of(kernel.ops(),
                                  [](const ir::Op& op) { return is_not_unrolled(op.opcode); });
}

// Arrays that fit the worker's own memory are read once per worker, whatever blocks run there.
double SimtModel::read_through_cache(const Input& input, double loaded) const {
  const double once = input.stream.once_bytes;
  const bool stays =
      once * static_cast<double>(inputs_.size()) <= worker_memory(*device_).capacity.value;
  return stays ? std::min(loaded, workers_ * once) : loaded;
}

double SimtModel::threads_of_code() const {
  const hwdesc::Multiplexing& machine = device_->multiplexing;
  const int warps = code_->warps > 0 ? code_->warps : machine.warps_per_block;
  return static_cast<double>(warps) * machine.warp_lanes;
}

double SimtModel::results_per_thread(double results) const {
  const double threads = workers_ * threads_of_worker(device_->multiplexing);
  return unrolls_ ? std::clamp(std::floor(results / threads), 1.0, kLoopResults) : 1;
}

// Rows that are reduced stay whole; the other loops are filled from the innermost, as results lie
// in memory.
std::optional<TileConfig> SimtModel::stated() const {
  if (!code_ || code_->emitter == Emitter::kHero) return std::nullopt;
  double results = 1, row = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    const bool reduced = (passes_.reduced_loops >> i & 1U) != 0;
    (reduced ? row : results) *= static_cast<double>(space_.loops[i].size);
  }
  LoopSizes extents;
  extents.fill(1);
  double left = threads_of_code() * results_per_thread(results);
  if (code_->emitter == Emitter::kTriton) {
    left = 1;
    for (const std::int64_t size : code_->tile) left *= static_cast<double>(size);
    if (rows_in_result_)
      left = std::max(left / std::bit_ceil(static_cast<std::uint64_t>(row)), 1.0);
    const bool by_dimension =
        row <= 1 && code_->tile.size() == space_.anchor_loops.size() && left > 1;
    for (std::size_t d = 0; by_dimension && d < code_->tile.size(); ++d) {
      const int loop = space_.anchor_loops[d];
      extents[loop] = std::min(code_->tile[d], space_.loops[loop].size);
    }
    if (by_dimension) return tile_of_extents(space_, extents);
  }
  for (std::size_t i = space_.loops.size(); i-- > 0;) {
    const std::int64_t size = space_.loops[i].size;
    const bool reduced = (passes_.reduced_loops >> i & 1U) != 0;
    extents[i] = reduced ? size : std::min(size, static_cast<std::int64_t>(left));
    if (!reduced) left = std::max(left / static_cast<double>(size), 1.0);
  }
  return tile_of_extents(space_, extents);
}

double SimtModel::resident_code(const Block& block) const {
  const double threads = threads_of_code();
  double elements = 1;
  for (std::size_t i = 0; i < space_.loops.size(); ++i) {
    elements *= static_cast<double>(block.extents[i]);
  }
  const double kept = kept_bytes_ * elements / threads / kRegisterBytes;
  const double registers = std::min(kOwnRegisters + kept, kMostRegisters);
  const double file = device_->multiplexing.registers_per_worker.value / kRegisterBytes;
  double resident = std::floor(threads_of_worker(device_->multiplexing) / threads);
  if (file > 0) resident = std::min(resident, std::floor(file / (registers * threads)));
  return std::max(resident, 1.0);
}

double SimtModel::code_starts_s(const Block& block) const {
  const bool hero = code_->emitter == Emitter::kHero;
  const double threads = hero ? hero_threads_ : block.covered_blocks * threads_of_code();
  return threads / device_->multiplexing.warp_lanes * device_->multiplexing.warp_start.value;
}

double SimtModel::streamed_s(const Block& block, double memory_s, double bytes) const {
  const double hero = std::min(workers_ * threads_of_worker(device_->multiplexing), hero_threads_);
  const double threads =
      code_->emitter == Emitter::kHero
          ? hero
          : std::min(block.blocks, workers_ * block.resident) * threads_of_code();
  return std::hypot(memory_s, bytes * memory_.latency_s / (threads * in_flight_));
}

}  // namespace tilecast::analytical
