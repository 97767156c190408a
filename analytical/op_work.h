// Work of ops on the units of a core, apart from the anchor's matrix work, per element of their
// group of equal extents (analytical/footprint.h).
#pragma once

#include <cstddef>
#include <vector>

#include "analytical/footprint.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// Work per element of a group: operations or elements per unit, bytes loaded and stored.
struct ElementWork {
  double vector = 0, transcendental = 0, cross_lane = 0, cross_lane_reduce = 0, irregular = 0;
  double load_bytes = 0, store_bytes = 0;
  double matrix = 0;      // cycles of products other than the anchor
  double conversion = 0;  // vector operations to or from an unsupported element type

  friend bool operator==(const ElementWork&, const ElementWork&) = default;
};

struct GroupWork : ElementWork {
  std::size_t group = 0;
};

// Vector operations per element to widen or narrow a type that the device does not compute in:
// "convert-f16" in its `op_cycles`; f8 and s4 cover their variants. 0 for other types. Widening f8
// has an entry of its own, "widen-f8", where that is cheaper.
[[nodiscard]] double conversion_cost(const ir::Shape& shape, const hwdesc::Device& device);
[[nodiscard]] double widening_cost(const ir::Shape& shape, const hwdesc::Device& device);
// Whether only products read the value, on a unit that is faster for its type than for 16 bits: it
// takes such operands as they are.
[[nodiscard]] bool goes_to_unit(const ir::Kernel& kernel, ir::OpId id,
                                const hwdesc::Device& device);

// Words that an element occupies when moved: narrow elements are packed into the words of a lane.
[[nodiscard]] double words_per_element(const ir::Shape& shape, const hwdesc::Device& device);

// Operations per element of a sliding window along one dimension of a reduce-window. A window as
// long as the row is a scan (log2 n steps) or, if every position sees the whole row, a single
// reduction: XLA splits scans (ReduceWindowRewriter) and writes the sums and maxima of a softmax as
// windows.
[[nodiscard]] double window_steps(const ir::WindowDim& window, std::int64_t row);
// Product of window_steps() over all dimensions; 1 for ops without a window.
[[nodiscard]] double window_operations(const ir::Op& op, const ir::Shape& input);

// Work per element of a bitonic network over rows of n keys, a sort's or topk's: stage k of log2 n
// compares over k distances. Cores with a scratchpad move lanes where both keys are in a register.
// GPUs keep rows of a power of two in the worker's memory. Every comparison reads both elements
// there, and half of them write both back. `keys`: elements of those.
struct SortWork {
  double vector = 1, cross_lane = 1;
};
[[nodiscard]] SortWork sort_work(const ir::Op& op, const ir::Shape& keys,
                                 const hwdesc::Device& device);

// Adds the work of `op`, apart from the anchor's matrix work, to the groups it runs over.
// Elementwise ops are one vector operation (or the device's `op_cycles`). Transcendentals go to the
// transcendental unit, and also to the vector unit if the device lists them in `op_cycles`: range
// reduction and polynomial around the special-function result. Reductions are one operation per
// input element plus a cross-lane reduction of the minor dimension. Ops that move elements between
// lanes (transposes and reshapes of the minor dimension, gathers, sorts) are cross-lane work,
// narrow elements packed.
void add_op_work(const ir::Kernel& kernel, ir::OpId op, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group);

}  // namespace tilecast::analytical
