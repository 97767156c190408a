#include "learned/node_columns.h"

#include <algorithm>

namespace tilecast::learned {

void EdgeList::add(std::int32_t producer, std::int32_t consumer) {
  std::int32_t& last = last_[static_cast<std::size_t>(producer)];
  if (last == consumer) return;
  last = consumer;
  graph_.edges.push_back({producer, consumer});
}

void order_nodes(const std::vector<std::int32_t>& roots, KernelGraph& graph) {
  std::vector<std::vector<std::int32_t>> producers(graph.nodes());
  for (const GraphEdge& edge : graph.edges) {
    producers[static_cast<std::size_t>(edge.consumer)].push_back(edge.producer);
  }
  std::vector<bool> reached(graph.nodes(), false);
  std::vector<std::size_t> followed(graph.nodes(), 0);  // number of visited producers, by node
  std::vector<std::int32_t> path;
  const auto reach = [&](std::int32_t node) {
    if (reached[static_cast<std::size_t>(node)]) return;
    reached[static_cast<std::size_t>(node)] = true;
    path.push_back(node);
  };
  const auto visit = [&](std::int32_t root) {
    reach(root);
    while (!path.empty()) {
      const auto node = static_cast<std::size_t>(path.back());
      if (followed[node] < producers[node].size()) {
        reach(producers[node][followed[node]++]);
      } else {
        graph.topological.push_back(path.back());
        path.pop_back();
      }
    }
  };
  graph.topological.reserve(graph.nodes());
  for (const std::int32_t root : roots) visit(root);
  for (std::size_t i = graph.nodes(); i-- > 0;) visit(static_cast<std::int32_t>(i));
}

// The columns of GraphEncoding::kTilecast. Dimensions are given by their position in the layout,
// counted from 1 for the fastest varying one, since that is what matters to a machine.

namespace {

using ir::Dims;
using Text = Columns::Text;
constexpr std::size_t kEntries = 6;

// Logical dimensions, fastest varying first.
Dims minor_to_major(const ir::Shape& shape) {
  if (shape.layout && shape.layout->minor_to_major.size() == shape.dims.size()) {
    return shape.layout->minor_to_major;
  }
  Dims order;
  for (int i = shape.rank(); i-- > 0;) order.push_back(i);
  return order;
}

// Position from 1; 0 for a dimension that the shape does not have.
std::int64_t place(const Dims& order, std::int64_t dimension) {
  const auto found = std::find(order.begin(), order.end(), dimension);
  return found == order.end() ? 0 : found - order.begin() + 1;
}

Dims places(const ir::Shape& shape, const Dims& dimensions) {
  const Dims order = minor_to_major(shape);
  Dims found;
  for (const std::int64_t d : dimensions) found.push_back(place(order, d));
  return found;
}

std::int64_t size_of(const ir::Shape& shape, std::int64_t dimension) {
  return dimension >= 0 && dimension < shape.rank() ? shape.dims[dimension] : 1;
}

Dims sizes(const ir::Shape& shape, const Dims& dimensions) {
  Dims found;
  for (const std::int64_t d : dimensions) found.push_back(size_of(shape, d));
  return found;
}

Dims in_order(const Dims& values, const Dims& order) {
  if (values.size() != order.size()) return values;
  Dims found;
  for (const std::int64_t i : order) found.push_back(values[static_cast<std::size_t>(i)]);
  return found;
}

// One member of every entry of a list; `entries` may be nullptr.
template <class Entries, class Member>
Dims members_of(const Entries* entries, Member member) {
  Dims found;
  if (entries == nullptr) return found;
  for (const auto& entry : *entries) found.push_back(entry.*member);
  return found;
}

// The same for a shape. A list with one entry per dimension of `shape` is put in
// layout order; others are unchanged.
template <class Entries, class Member>
Dims each(const Entries* entries, const ir::Shape* shape, Member member) {
  const Dims found = members_of(entries, member);
  return shape == nullptr ? found : in_order(found, minor_to_major(*shape));
}

// A node with its derived facts; all empty if only names are needed.
struct Seen {
  explicit Seen(const NodeView& viewed)
      : node(viewed), shape(viewed.op == nullptr ? none : viewed.op->shape) {
    find_window();
    if (const auto* const dotted = get<ir::DotAttrs>()) dot = &dotted->dims;
    if (node.op == nullptr || node.op->operands.empty()) return;
    lhs = &node.kernel->op(node.op->operands[0]).shape;
    if (node.op->operands.size() > 1) rhs = &node.kernel->op(node.op->operands[1]).shape;
  }

  template <class T>
  [[nodiscard]] const T* get() const {
    return node.op == nullptr ? nullptr : node.op->attrs.get<T>();
  }
  [[nodiscard]] bool is(ir::Opcode opcode) const {
    return node.op != nullptr && node.op->opcode == opcode;
  }
  // The window of a convolution or reduction.
  void find_window() {
    const auto take = [this](const auto& attrs, const ir::ConvDims& dims) {
      window = &attrs.window;
      conv = &dims;
      feature_groups = static_cast<double>(attrs.feature_group_count);
      batch_groups = static_cast<double>(attrs.batch_group_count);
    };
    if (const auto* const attrs = get<ir::ConvAttrs>()) {
      take(*attrs, attrs->dims);
    } else if (const auto* const call = get<ir::CustomCallAttrs>(); call && call->dims) {
      take(*call, *call->dims);
    } else if (const auto* const windowed = get<ir::WindowAttrs>()) {
      window = &windowed->window;
    }
  }

  const NodeView& node;
  const ir::Shape none;
  const ir::Shape& shape;
  const ir::Window* window = nullptr;
  const ir::ConvDims* conv = nullptr;
  double feature_groups = 0, batch_groups = 0;
  const ir::Shape *lhs = nullptr, *rhs = nullptr;  // shapes of the first two operands
  const ir::DotDims* dot = nullptr;
};

void role_columns(const Seen& seen, Columns& to) {
  const ir::Op* const op = seen.node.op;
  to.value({"is_output", "1 where the kernel gives this op's array out, else 0."},
           seen.node.is_output ? 1 : 0);
  to.value({"is_parameter", "1 for an array that the kernel reads, else 0."},
           seen.is(ir::Opcode::kParameter) ? 1 : 0);
  to.value({"operands", "Number of operands, repeated ones counted again."},
           op == nullptr ? 0 : static_cast<double>(op->operands.size()));
  to.value({"users", "Number of ops that read this one."}, static_cast<double>(seen.node.users));
  to.value({"applied_flops", "FLOPs of one application of the computation it calls.", "flop"},
           op == nullptr ? 0 : op->applied_flops);
  to.value({"applied_transcendentals",
            "Transcendentals of one application of the computation it calls."},
           op == nullptr ? 0 : op->applied_transcendentals);
}

// The op that a reduction applies to two elements, if its computation is a single op.
void applied_columns(const Seen& seen, Columns& to) {
  const auto applies = [op = seen.node.op](ir::Opcode opcode) {
    return op != nullptr && op->applied == opcode;
  };
  const bool extremum = seen.node.op != nullptr && seen.node.op->applied &&
                        ir::arithmetic(*seen.node.op->applied) == ir::Arithmetic::kExtremum;
  to.value({"applied.add", "1 for a reduction by addition, else 0."},
           applies(ir::Opcode::kAdd) ? 1 : 0);
  to.value({"applied.compare", "1 for a reduction by maximum or minimum, else 0."},
           extremum ? 1 : 0);
}

void dtype_columns(const Seen& seen, Columns& to) {
  const ir::DType dtype = seen.shape.dtype;
  const auto one = [](bool condition) { return condition ? 1.0 : 0.0; };
  to.value({"element_bytes", "Width of an element; 0 of a tuple or token.", "B"},
           ir::bits(dtype) / 8.0);
  to.value({"dtype.pred", "1 for truth values, else 0."}, one(dtype == ir::DType::kPred));
  to.value({"dtype.signed", "1 for signed integers, else 0."}, one(ir::is_signed_integer(dtype)));
  to.value({"dtype.unsigned", "1 for unsigned integers, else 0."},
           one(ir::is_unsigned_integer(dtype)));
  to.value({"dtype.float", "1 for real floating-point numbers, else 0."},
           one(ir::is_floating(dtype)));
  to.value({"dtype.complex", "1 for complex numbers, else 0."}, one(ir::is_complex(dtype)));
  to.value({"dtype.tuple", "1 for an op with several results, else 0."},
           one(dtype == ir::DType::kTuple));
}

// The shape that the numbers in `dimensions={...}` refer to.
const ir::Shape& dimensioned(const Seen& seen) {
  const ir::Op* const op = seen.node.op;
  const bool spreads = op != nullptr && ir::has(op->opcode, ir::Trait::kSpreads);
  const bool of_result = spreads || seen.is(ir::Opcode::kConcatenate);
  return of_result || seen.lhs == nullptr ? seen.shape : *seen.lhs;
}

Dims dimension_places(const Seen& seen) {
  if (seen.node.op == nullptr) return {};
  if (seen.is(ir::Opcode::kIota)) {
    const auto* const iota = seen.get<ir::IndexAttrs>();
    return iota == nullptr ? Dims() : places(seen.shape, {iota->index});
  }
  Dims found = places(dimensioned(seen), seen.node.op->dimensions);
  // A list by dimension of the operand (broadcast) or of the result (transpose).
  const ir::Shape* by = nullptr;
  if (seen.is(ir::Opcode::kBroadcast)) by = seen.lhs;
  if (seen.is(ir::Opcode::kTranspose)) by = &seen.shape;
  return by == nullptr ? found : in_order(found, minor_to_major(*by));
}

void shape_columns(const Seen& seen, Columns& to) {
  const bool array = seen.shape.is_array();
  const Dims order = minor_to_major(seen.shape);
  Dims layout;
  for (const std::int64_t d : order) layout.push_back(d + 1);
  to.value({"rank", "Number of dimensions of the result."}, seen.shape.rank());
  to.value({"bytes", "Result in device layout, padding included; tuples: all arrays.", "B"},
           seen.node.op == nullptr || seen.shape.is_unbounded()
               ? 0
               : static_cast<double>(ir::padded_bytes(seen.shape)));
  to.value({"on_chip", "1 where the result lies in another memory than the main one, else 0."},
           seen.shape.memory_space() == 0 ? 0 : 1);
  to.list({"shape", "Elements along the dimensions of the result, fastest varying first."},
          sizes(seen.shape, order), kEntries, array ? 1 : 0);
  to.list({"layout",
           "Layout: the dimensions as the program numbers them, from 1, fastest varying first."},
          layout, kEntries, 0);
  to.list({"dimensions",
           "Dimensions the op names (reduced, broadcast to, transposed, concatenated ...) by their "
           "place in the layout, 1 varies fastest."},
          dimension_places(seen), kEntries, 0);
}

void window_columns(const Seen& seen, Columns& to) {
  // Convolutions: spatial dimensions in the order written.
  const ir::Shape* const by = seen.conv == nullptr ? seen.lhs : nullptr;
  const auto list = [&](const Text& text, std::int64_t ir::WindowDim::*member) {
    to.list(text, each(seen.window, by, member), kEntries, 0);
  };
  list({"window.size",
        "Window of a convolution (spatial dimensions as written) or reduction (fastest varying "
        "first): elements."},
       &ir::WindowDim::size);
  list({"window.stride", "Window: step between positions."}, &ir::WindowDim::stride);
  list({"window.pad_low", "Window: padding before."}, &ir::WindowDim::pad_low);
  list({"window.pad_high", "Window: padding after."}, &ir::WindowDim::pad_high);
  list({"window.base_dilation", "Window: step between input elements, holes between."},
       &ir::WindowDim::base_dilation);
  list({"window.dilation", "Window: step between elements of the window."},
       &ir::WindowDim::window_dilation);
  const Dims reversed = members_of(seen.window, &ir::WindowDim::reversal);
  to.value({"window.reversed", "Window: number of dimensions that run backwards."},
           static_cast<double>(std::ranges::count(reversed, 1)));
}

Dims slice_sizes(const Seen& seen) {
  if (const auto* const slice = seen.get<ir::DynamicSliceAttrs>()) {
    return in_order(slice->sizes, minor_to_major(seen.shape));
  }
  const auto* const gather = seen.get<ir::GatherAttrs>();
  if (gather == nullptr || seen.lhs == nullptr) return {};
  return in_order(gather->slice_sizes, minor_to_major(*seen.lhs));
}

Dims indexed_places(const Seen& seen) {
  if (seen.lhs == nullptr) return {};
  if (const auto* const gather = seen.get<ir::GatherAttrs>()) {
    return places(*seen.lhs, gather->start_index_map);
  }
  const auto* const scatter = seen.get<ir::ScatterAttrs>();
  return scatter == nullptr ? Dims() : places(*seen.lhs, scatter->scatter_dims_to_operand_dims);
}

void movement_columns(const Seen& seen, Columns& to) {
  const auto* const slice = seen.get<ir::SliceAttrs>();
  const auto slices = [&](const Text& text, std::int64_t ir::SliceDim::*member) {
    to.list(text, each(slice == nullptr ? nullptr : &slice->dims, seen.lhs, member), kEntries, 0);
  };
  slices({"slice.start", "Slice: first element, fastest varying dimension first."},
         &ir::SliceDim::start);
  slices({"slice.limit", "Slice: one past the last element."}, &ir::SliceDim::limit);
  slices({"slice.stride", "Slice: step."}, &ir::SliceDim::stride);
  to.list({"slice.size",
           "Dynamic slice, gather: elements taken along each dimension, fastest varying first."},
          slice_sizes(seen), kEntries, 0);
  to.list({"indexed",
           "Gather, scatter: dimensions that indices run over, by their place in the layout."},
          indexed_places(seen), kEntries, 0);
  const auto* const pad = seen.get<ir::PadAttrs>();
  const auto pads = [&](const Text& text, std::int64_t ir::PadDim::*member) {
    to.list(text, each(pad == nullptr ? nullptr : &pad->dims, seen.lhs, member), kEntries, 0);
  };
  pads({"pad.low", "Pad: elements before, fastest varying dimension first; negative: cut."},
       &ir::PadDim::low);
  pads({"pad.high", "Pad: elements after."}, &ir::PadDim::high);
  pads({"pad.interior", "Pad: elements between."}, &ir::PadDim::interior);
}

// Number of elements reduced into one result element, by dimension.
Dims summed(const Seen& seen) {
  if (seen.lhs == nullptr) return {};
  if (seen.dot != nullptr) return sizes(*seen.lhs, seen.dot->lhs_contracting);
  if (seen.is(ir::Opcode::kReduce)) return sizes(*seen.lhs, seen.node.op->dimensions);
  if (seen.window == nullptr) return {};
  Dims found = each(seen.window, seen.conv == nullptr ? seen.lhs : nullptr, &ir::WindowDim::size);
  if (seen.conv != nullptr && seen.rhs != nullptr) {
    found.insert(found.begin(), size_of(*seen.rhs, seen.conv->kernel_input_feature));
  }
  return found;
}

void contraction_columns(const Seen& seen, Columns& to) {
  Dims lhs, rhs, batch;
  if (seen.lhs != nullptr && seen.rhs != nullptr && seen.dot != nullptr) {
    lhs = places(*seen.lhs, seen.dot->lhs_contracting);
    rhs = places(*seen.rhs, seen.dot->rhs_contracting);
    batch = sizes(*seen.lhs, seen.dot->lhs_batch);
  } else if (seen.lhs != nullptr && seen.rhs != nullptr && seen.conv != nullptr) {
    lhs = places(*seen.lhs, {seen.conv->input_feature});
    rhs = places(*seen.rhs, {seen.conv->kernel_input_feature});
  }
  to.list({"summed",
           "Elements that go into one of the result: contracted dimensions of a dot; input "
           "features and window of a convolution; what a reduction reduces."},
          summed(seen), kEntries, 0);
  to.list({"dot.lhs",
           "Dot, convolution: contracted dimensions (input features) by their place in the layout "
           "of the first operand, 1 varies fastest."},
          lhs, kEntries, 0);
  to.list({"dot.rhs", "As dot.lhs, of the second operand."}, rhs, kEntries, 0);
  to.list({"dot.batch", "Dot: sizes of the batch dimensions."}, batch, kEntries, 0);
}

void convolution_columns(const Seen& seen, Columns& to) {
  const ir::ConvDims none;
  const ir::ConvDims& conv = seen.conv == nullptr ? none : *seen.conv;
  const auto at = [&](const ir::Shape* shape, int dimension) {
    return shape == nullptr || seen.conv == nullptr
               ? 0
               : static_cast<double>(place(minor_to_major(*shape), dimension));
  };
  const auto size = [&](const ir::Shape* shape, int dimension) {
    return shape == nullptr || seen.conv == nullptr
               ? 0
               : static_cast<double>(size_of(*shape, dimension));
  };
  to.value({"conv.feature_groups", "Convolution: feature_group_count, else 0."},
           seen.feature_groups);
  to.value({"conv.batch_groups", "Convolution: batch_group_count, else 0."}, seen.batch_groups);
  to.value({"conv.input_features", "Convolution: input features of the first operand."},
           size(seen.lhs, conv.input_feature));
  to.value({"conv.output_features", "Convolution: output features of the second operand."},
           size(seen.rhs, conv.kernel_output_feature));
  to.value({"conv.batch", "Convolution: batch of the first operand."},
           size(seen.lhs, conv.input_batch));
  to.value({"conv.input_batch_place",
            "Convolution: place of the batch in the first operand's layout, 1 varies fastest."},
           at(seen.lhs, conv.input_batch));
  to.value({"conv.kernel_output_feature_place",
            "Convolution: place of the output features in the second operand's layout."},
           at(seen.rhs, conv.kernel_output_feature));
  to.value({"conv.output_batch_place", "Convolution: place of the batch in the result's layout."},
           at(&seen.shape, conv.output_batch));
  to.value({"conv.output_feature_place",
            "Convolution: place of the output features in the result's layout."},
           at(&seen.shape, conv.output_feature));
}

}  // namespace

void tilecast_columns(const NodeView& node, Columns& to) {
  const Seen seen(node);
  role_columns(seen, to);
  applied_columns(seen, to);
  dtype_columns(seen, to);
  shape_columns(seen, to);
  window_columns(seen, to);
  movement_columns(seen, to);
  contraction_columns(seen, to);
  convolution_columns(seen, to);
}

}  // namespace tilecast::learned
