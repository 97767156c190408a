#include "analytical/simt_atomics.h"

#include <algorithm>
#include <cmath>

#include "analytical/simt_launch.h"
#include "ir/array_elements.h"

namespace tilecast::analytical {
namespace {

// Of the bytes that the shared cache reads in a second, those that its slices combine (f32 on H100
// and H200: 500 G/s beside 10.1 TB/s).
constexpr double kCombinedShare = 0.2;
constexpr double kWordBytes = 4, kSwapWords = 4;

// Whether the slices combine numbers of this type by themselves. Extremes of floating-point numbers
// are swapped.
bool combines_in_cache(const ir::Op& scatter, ir::DType dtype) {
  if (!scatter.applied || ir::storage_bytes(dtype) < kWordBytes) return false;
  const ir::Opcode applied = *scatter.applied;
  if (applied == ir::Opcode::kAdd) return !ir::is_complex(dtype);
  const bool extreme = applied == ir::Opcode::kMinimum || applied == ir::Opcode::kMaximum;
  const bool bits =
      applied == ir::Opcode::kAnd || applied == ir::Opcode::kOr || applied == ir::Opcode::kXor;
  return ir::is_integer(dtype) && (extreme || bits);
}

// Updates of the most frequent of `rows` rows, of which `updates` are chosen at random.
double fullest_row(double updates, double rows) {
  const double mean = updates / rows;
  return std::max(mean + std::sqrt(2 * mean * std::log(rows)), 1.0);
}

}  // namespace

double atomic_updates_s(const ir::Kernel& kernel, const hwdesc::Device& device) {
  const hwdesc::MemoryLevel* cache = shared_cache(device);
  if (cache == nullptr) return 0;
  double seconds = 0;
  for (const ir::Op& op : kernel.ops()) {
    const auto* scatter = op.get<ir::ScatterAttrs>();
    if (scatter == nullptr || op.opcode != ir::Opcode::kScatter || op.applied_flops <= 0) continue;
    const std::size_t arrays = op.operands.size() / 2;
    for (std::size_t i = 0; i < arrays; ++i) {
      const ir::Shape& updates = kernel.op(op.operands[arrays + 1 + i]).shape;
      const double bytes = ir::storage_bytes(updates.dtype);
      double window = 1;
      for (const std::int64_t dim : scatter->update_window_dims) {
        window *= static_cast<double>(updates.dims[static_cast<std::size_t>(dim)]);
      }
      const double count = ir::array_elements(updates);
      const double rows = ir::array_elements(kernel.op(op.operands[i]).shape) / window;
      if (count <= 0 || rows <= 0) continue;
      const bool in_cache = combines_in_cache(op, updates.dtype);
      const double moved = in_cache ? bytes : kSwapWords * std::max(bytes, kWordBytes);
      const double in_word = window > 1 ? std::max(kWordBytes / bytes, 1.0) : 1;
      const double step_s = in_cache ? 1 / device.clock.value : cache->latency.value;
      const double all_s = count * moved / (kCombinedShare * cache->bandwidth.value);
      seconds += std::max(all_s, fullest_row(count / window, rows) * in_word * step_s);
    }
  }
  return seconds;
}

}  // namespace tilecast::analytical
