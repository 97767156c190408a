// What ops ask of the units of a core besides the matrix work of the anchor, per element of their
// group of equal extents (analytical/footprint.h).
#pragma once

#include <cstddef>
#include <vector>

#include "analytical/footprint.h"
#include "hwdesc/device.h"
#include "ir/kernel.h"

namespace tilecast::analytical {

// What an op of a group asks of the units, per element of the group.
struct ElementWork {
  double vector = 0, transcendental = 0, cross_lane = 0, cross_lane_reduce = 0, irregular = 0;
  double load_bytes = 0, store_bytes = 0;
  double matrix = 0;      // cycles of products besides the anchor
  double conversion = 0;  // vector operations to or from an element type that no unit takes

  friend bool operator==(const ElementWork&, const ElementWork&) = default;
};

struct GroupWork : ElementWork {
  std::size_t group = 0;
};

// Vector operations per element to widen or narrow a type that the device does not compute in:
// "convert-f16" in its `op_cycles`; f8 and s4 stand for their variants. 0 for other types.
[[nodiscard]] double conversion_cost(const ir::Shape& shape, const hwdesc::Device& device);

// Narrow elements move packed in the words of a lane.
[[nodiscard]] double words_per_element(const ir::Shape& shape, const hwdesc::Device& device);

// Operations per element of a sliding window along one dimension of a reduce-window. A window as
// long as the row is a scan (log2 n steps) or, where every place sees the whole row, one reduction:
// XLA splits those (ReduceWindowRewriter) and writes the sums and maxima of a softmax so.
[[nodiscard]] double window_steps(const ir::WindowDim& window, std::int64_t row);
// Of all dimensions; 1 for ops without a window.
[[nodiscard]] double window_operations(const ir::Op& op, const ir::Shape& input);

// Steps of a bitonic network over rows of n keys: stage k of log2 n compares over k distances, of
// which those within a register (of so many elements) move lanes.
struct SortSteps {
  double all = 1, in_register = 1;
};
// Of a sort or topk of `keys`.
[[nodiscard]] SortSteps sort_steps(const ir::Op& op, const ir::Shape& keys,
                                   double register_elements);

// Adds the work of `op` besides the matrix unit to the groups it runs over. Elementwise ops are one
// vector operation (or the device's `op_cycles`). Transcendentals go to the transcendental unit,
// and where the device lists them in `op_cycles` also to the vector unit: range reduction and
// polynomial around the special-function result. Reductions are one operation per input element
// plus a cross-lane reduction of the minor dimension; ops that move elements between lanes
// (transposes and reshapes of it, gathers, sorts) go there too, narrow elements packed in words.
void add_op_work(const ir::Kernel& kernel, ir::OpId op, const hwdesc::Device& device,
                 const Footprints& footprints, std::vector<ElementWork>& by_group);

}  // namespace tilecast::analytical
