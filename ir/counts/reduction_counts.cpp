// Counts ops that apply a computation: reduce, reduce-window, select-and-scatter, scan.
#include <algorithm>
#include <optional>

#include "ir/counts/op_counts.h"

namespace tilecast::ir {
namespace {

long double window_elements(const Window& window) {
  long double product = 1;
  for (const WindowDim& dim : window) product *= real(dim.size);
  return product;
}

// For a reduce-window that covers all of one dimension at every position, and so equals a reduce
// followed by a broadcast: that dimension.
std::optional<std::size_t> reduce_then_broadcast_dim(const Shape& result, const Window& window) {
  if (!result.is_array()) return std::nullopt;
  const auto reduces = [](const WindowDim& d) { return d.size != 1; };
  const auto pads = [](const WindowDim& d) { return d.pad_low != 0 || d.pad_high != 0; };
  if (std::count_if(window.begin(), window.end(), reduces) != 1) return std::nullopt;
  if (std::count_if(window.begin(), window.end(), pads) != 1) return std::nullopt;
  const auto it = std::find_if(window.begin(), window.end(), reduces);
  const auto dim = static_cast<std::size_t>(it - window.begin());
  const bool spans = it->pad_low != 0 && it->pad_low == it->pad_high && it->pad_low < it->size &&
                     it->size - it->pad_low == it->pad_low + 1;
  if (!spans || dim >= result.dims.size() || it->pad_low != result.dims[dim] - 1) {
    return std::nullopt;
  }
  return dim;
}

void count_reduce_window(const CountedOp& op, WorkCounts& counts) {
  const auto* attrs = op.op.get<WindowAttrs>();
  if (attrs == nullptr || op.operand_count() == 0) return;
  const auto outputs = real(first_result_elements(op.op.shape));
  long double per_output = window_elements(attrs->window);
  long double times = (per_output - 1) * outputs;
  if (const auto dim = reduce_then_broadcast_dim(op.op.shape, attrs->window)) {
    per_output = real(op.op.shape.dims[*dim]);
    times = outputs / per_output + per_output - 1;
  }
  if (op.counter.options().count_multiple_input_accesses) {
    set_operand(counts, 0, outputs * per_output * storage_bytes(op.operand_shape(0).dtype));
  }
  add_applied(op, 0, saturated(times), counts);
}

void count_select_and_scatter(const CountedOp& op, WorkCounts& counts) {
  const auto* attrs = op.op.get<WindowAttrs>();
  if (attrs == nullptr || op.operand_count() < 2) return;
  const auto sources = real(element_count(op.operand_shape(1)));
  add_applied(op, 0, saturated(sources * (window_elements(attrs->window) - 1)), counts);
  add_applied(op, 1, saturated(sources), counts);
}

}  // namespace

void add_applied(const CountedOp& op, std::size_t callee, float times, WorkCounts& counts) {
  if (callee >= op.op.called.size()) return;
  const WorkCounts& applied = op.counter.total(op.op.called[callee]);
  counts.flops = saturated(real(counts.flops) + applied.flops * times);
  counts.transcendentals =
      saturated(real(counts.transcendentals) + applied.transcendentals * times);
}

void count_reduction(const CountedOp& op, WorkCounts& counts) {
  switch (op.op.opcode) {
    case Opcode::kReduceWindow:
      return count_reduce_window(op, counts);
    case Opcode::kSelectAndScatter:
      return count_select_and_scatter(op, counts);
    case Opcode::kScan:
      if (op.operand_count() < 2) return;
      return add_applied(op, 0, static_cast<float>(first_result_elements(op.operand_shape(1))),
                         counts);
    default: {
      if (op.operand_count() == 0) return;
      const std::int64_t in = first_result_elements(op.operand_shape(0));
      return add_applied(op, 0, static_cast<float>(in - first_result_elements(op.op.shape)),
                         counts);
    }
  }
}

}  // namespace tilecast::ir
