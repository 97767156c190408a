#include "learned/node_columns.h"

#include <algorithm>
#include <array>

namespace tilecast::learned {

NodeWindow::NodeWindow(const NodeView& node) {
  const auto take = [this](const auto& attrs, const ir::ConvDims& dims) {
    window = &attrs.window;
    conv = &dims;
    feature_groups = attrs.feature_group_count;
    batch_groups = attrs.batch_group_count;
  };
  if (const auto* const attrs = node.get<ir::ConvAttrs>()) {
    take(*attrs, attrs->dims);
  } else if (const auto* const call = node.get<ir::CustomCallAttrs>(); call && call->dims) {
    take(*call, *call->dims);
  } else if (const auto* const windowed = node.get<ir::WindowAttrs>()) {
    window = &windowed->window;
  }
}

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

// One member of every entry of a list. A list with one entry per dimension of `shape` is put in
// layout order; others are unchanged.
template <class Entries, class Member>
Dims each(const Entries* entries, const ir::Shape* shape, Member member) {
  const Dims found = members_of(entries, member);
  return shape == nullptr ? found : in_order(found, minor_to_major(*shape));
}

// A node with its derived facts; all empty if only names are needed.
struct Seen {
  explicit Seen(const NodeView& viewed)
      : node(viewed), shape(viewed.shape == nullptr ? none : *viewed.shape), windowed(viewed) {
    if (const auto* const dotted = node.get<ir::DotAttrs>()) dot = &dotted->dims;
    if (node.op == nullptr || node.op->operands.empty()) return;
    lhs = &node.kernel->op(node.op->operands[0]).shape;
    if (node.op->operands.size() > 1) rhs = &node.kernel->op(node.op->operands[1]).shape;
  }

  const NodeView& node;
  const ir::Shape none;
  const ir::Shape& shape;
  const NodeWindow windowed;
  const ir::Window* window = windowed.window;
  const ir::ConvDims* conv = windowed.conv;
  const ir::Shape *lhs = nullptr, *rhs = nullptr;  // shapes of the first two operands
  const ir::DotDims* dot = nullptr;
};

void role_columns(const Seen& seen, Columns& to) {
  const auto is = [&](ir::Opcode opcode) {
    return seen.node.op != nullptr && seen.node.opcode == opcode ? 1.0 : 0.0;
  };
  const ir::Op* const op = seen.node.op;
  to.value({"is_output", "1 where the kernel gives this op's array out, else 0."},
           seen.node.is_output ? 1 : 0);
  to.value({"is_parameter", "1 for an array that the kernel reads, else 0."},
           is(ir::Opcode::kParameter));
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
  const ir::Opcode opcode = seen.node.opcode;
  const bool of_result = ir::has(opcode, ir::Trait::kSpreads) || opcode == ir::Opcode::kConcatenate;
  return of_result || seen.lhs == nullptr ? seen.shape : *seen.lhs;
}

Dims dimension_places(const Seen& seen) {
  if (seen.node.dimensions == nullptr) return {};
  if (seen.node.opcode == ir::Opcode::kIota) {
    const auto* const iota = seen.node.get<ir::IndexAttrs>();
    return iota == nullptr ? Dims() : places(seen.shape, {iota->index});
  }
  Dims found = places(dimensioned(seen), *seen.node.dimensions);
  // A list by dimension of the operand (broadcast) or of the result (transpose).
  const ir::Shape* by = nullptr;
  if (seen.node.opcode == ir::Opcode::kBroadcast) by = seen.lhs;
  if (seen.node.opcode == ir::Opcode::kTranspose) by = &seen.shape;
  return by == nullptr ? found : in_order(found, minor_to_major(*by));
}

void shape_columns(const Seen& seen, Columns& to) {
  const bool array = seen.shape.is_array();
  const Dims order = minor_to_major(seen.shape);
  Dims layout;
  for (const std::int64_t d : order) layout.push_back(d + 1);
  to.value({"rank", "Number of dimensions of the result."}, seen.shape.rank());
  to.value({"bytes", "Result in device layout, padding included; tuples: all arrays.", "B"},
           seen.node.shape == nullptr || seen.shape.is_unbounded()
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
  if (const auto* const slice = seen.node.get<ir::DynamicSliceAttrs>()) {
    return in_order(slice->sizes, minor_to_major(seen.shape));
  }
  const auto* const gather = seen.node.get<ir::GatherAttrs>();
  if (gather == nullptr || seen.lhs == nullptr) return {};
  return in_order(gather->slice_sizes, minor_to_major(*seen.lhs));
}

Dims indexed_places(const Seen& seen) {
  if (seen.lhs == nullptr) return {};
  if (const auto* const gather = seen.node.get<ir::GatherAttrs>()) {
    return places(*seen.lhs, gather->start_index_map);
  }
  const auto* const scatter = seen.node.get<ir::ScatterAttrs>();
  return scatter == nullptr ? Dims() : places(*seen.lhs, scatter->scatter_dims_to_operand_dims);
}

void movement_columns(const Seen& seen, Columns& to) {
  const auto* const slice = seen.node.get<ir::SliceAttrs>();
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
  const auto* const pad = seen.node.get<ir::PadAttrs>();
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
  if (seen.node.opcode == ir::Opcode::kReduce && seen.node.dimensions != nullptr) {
    return sizes(*seen.lhs, *seen.node.dimensions);
  }
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
           static_cast<double>(seen.windowed.feature_groups));
  to.value({"conv.batch_groups", "Convolution: batch_group_count, else 0."},
           static_cast<double>(seen.windowed.batch_groups));
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

namespace {

using Text = Columns::Text;
constexpr std::size_t kDims = 6;     // dimensions of a tensor, window or layout
constexpr std::size_t kFew = 2;      // entries of a slice or padding configuration
constexpr std::size_t kSpatial = 4;  // spatial dimensions of a convolution
constexpr double kProductOfNone = 1;

// Opcodes by number, starting at 1, from the data set's hlo_opcode table (TpuGraphs,
// google-research-datasets/tpu_graphs). "trace" and "tuple-select" are no longer part of HLO.
// clang-format off
constexpr std::string_view kNumbered[] = {
    "abs", "add", "add-dependency", "after-all", "all-reduce", "all-to-all", "atan2",
    "batch-norm-grad", "batch-norm-inference", "batch-norm-training", "bitcast",
    "bitcast-convert", "broadcast", "call", "ceil", "cholesky", "clamp", "collective-permute",
    "count-leading-zeros", "compare", "complex", "concatenate", "conditional", "constant",
    "convert", "convolution", "copy", "copy-done", "copy-start", "cosine", "custom-call",
    "divide", "domain", "dot", "dynamic-slice", "dynamic-update-slice", "exponential",
    "exponential-minus-one", "fft", "floor", "fusion", "gather", "get-dimension-size",
    "set-dimension-size", "get-tuple-element", "imag", "infeed", "iota", "is-finite", "log",
    "log-plus-one", "and", "not", "or", "xor", "map", "maximum", "minimum", "multiply",
    "negate", "outfeed", "pad", "parameter", "partition-id", "popcnt", "power", "real", "recv",
    "recv-done", "reduce", "reduce-precision", "reduce-window", "remainder", "replica-id",
    "reshape", "reverse", "rng", "rng-get-and-update-state", "rng-bit-generator",
    "round-nearest-afz", "rsqrt", "scatter", "select", "select-and-scatter", "send",
    "send-done", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "sine",
    "slice", "sort", "sqrt", "subtract", "tanh", "trace", "transpose", "triangular-solve",
    "tuple", "tuple-select", "while", "cbrt", "all-gather", "collective-permute-start",
    "collective-permute-done", "logistic", "dynamic-reshape", "all-reduce-start",
    "all-reduce-done", "reduce-scatter", "all-gather-start", "all-gather-done", "opt-barrier",
    "async-start", "async-update", "async-done", "round-nearest-even", "stochastic-convert",
    "tan",
};
// clang-format on

// Element types in the order of their columns.
constexpr std::array kDTypes = {
    ir::DType::kInvalid, ir::DType::kPred,  ir::DType::kS8,     ir::DType::kS16,  ir::DType::kS32,
    ir::DType::kS64,     ir::DType::kU8,    ir::DType::kU16,    ir::DType::kU32,  ir::DType::kU64,
    ir::DType::kF16,     ir::DType::kF32,   ir::DType::kF64,    ir::DType::kBF16, ir::DType::kC64,
    ir::DType::kC128,    ir::DType::kTuple, ir::DType::kOpaque, ir::DType::kToken};

void shape_columns(const NodeView& node, Columns& to) {
  const ir::Shape none;
  const ir::Shape& shape = node.shape == nullptr ? none : *node.shape;
  to.value({"is_root", "1 where this op is its computation's result, else 0."},
           node.is_output ? 1 : 0);
  to.value({"unused", "Always 0."}, 0);
  for (const ir::DType dtype : kDTypes) {
    const std::string name = "dtype." + std::string(ir::name(dtype));
    to.value({name, "1 where this is the element type of the result, else 0."},
             node.shape != nullptr && shape.dtype == dtype ? 1 : 0);
  }
  to.list({"shape", "Elements along the dimensions of the result, as the program has them."},
          shape.dims, kDims, kProductOfNone);
  to.value({"tuple_size", "Elements of a tuple, else 0."},
           shape.is_tuple() ? static_cast<double>(shape.elements.size()) : 0);
  to.value({"parameter_number", "Number of a parameter, from 0."},
           static_cast<double>(node.parameter));
  Dims dimensions;
  if (node.dimensions != nullptr) dimensions = *node.dimensions;
  if (node.opcode == ir::Opcode::kIota && node.get<ir::IndexAttrs>() != nullptr) {
    dimensions = {node.get<ir::IndexAttrs>()->index};
  }
  to.entries({"dimensions", "Dimension numbers the op names: reduced, broadcast to ..."},
             dimensions, kDims);
}

void window_columns(const ir::Window* window, Columns& to) {
  const auto list = [&](const Text& text, std::int64_t ir::WindowDim::*member) {
    to.list(text, members_of(window, member), kDims, kProductOfNone);
  };
  list({"window.size", "Window: elements."}, &ir::WindowDim::size);
  list({"window.stride", "Window: step between positions."}, &ir::WindowDim::stride);
  list({"window.pad_low", "Window: padding before."}, &ir::WindowDim::pad_low);
  list({"window.pad_high", "Window: padding after."}, &ir::WindowDim::pad_high);
  list({"window.dilation", "Window: step between elements of the window."},
       &ir::WindowDim::window_dilation);
  list({"window.base_dilation", "Window: step between input elements, holes between."},
       &ir::WindowDim::base_dilation);
  const Dims reversed = members_of(window, &ir::WindowDim::reversal);
  const auto backwards = std::ranges::count(reversed, 1);
  to.entries({"window.reversal", "Window: 1 where the dimension runs backwards."}, reversed, kDims);
  to.value({"window.reversal.true", "Window: dimensions that run backwards."},
           static_cast<double>(backwards));
  to.value({"window.reversal.false", "Window: dimensions that run forwards."},
           static_cast<double>(reversed.size()) - static_cast<double>(backwards));
}

void convolution_columns(const NodeWindow& windowed, Columns& to) {
  ir::ConvDims dims;
  if (windowed.conv != nullptr) dims = *windowed.conv;
  // Dimension numbers; 0 if there is none, as for all ops except convolutions.
  const auto number = [&](const Text& text, int dimension) {
    to.value(text, std::max(dimension, 0));
  };
  number({"conv.input_batch", "Convolution: batch dimension of the input."}, dims.input_batch);
  number({"conv.input_feature", "Convolution: feature dimension of the input."},
         dims.input_feature);
  to.entries({"conv.input_spatial", "Convolution: spatial dimensions of the input."},
             dims.input_spatial, kSpatial);
  number({"conv.kernel_input_feature", "Convolution: input feature dimension of the kernel."},
         dims.kernel_input_feature);
  number({"conv.kernel_output_feature", "Convolution: output feature dimension of the kernel."},
         dims.kernel_output_feature);
  to.entries({"conv.kernel_spatial", "Convolution: spatial dimensions of the kernel."},
             dims.kernel_spatial, kSpatial);
  number({"conv.output_batch", "Convolution: batch dimension of the result."}, dims.output_batch);
  number({"conv.output_feature", "Convolution: feature dimension of the result."},
         dims.output_feature);
  to.value({"conv.feature_groups", "Convolution: feature_group_count, else 0."},
           static_cast<double>(windowed.feature_groups));
  to.value({"conv.batch_groups", "Convolution: batch_group_count, else 0."},
           static_cast<double>(windowed.batch_groups));
}

void movement_columns(const NodeView& node, Columns& to) {
  const auto* const sliced = node.get<ir::SliceAttrs>();
  const auto* const slice = sliced == nullptr ? nullptr : &sliced->dims;
  const auto few = [&](const Text& text, const Dims& values) {
    to.list(text, values, kFew, kProductOfNone);
  };
  few({"slice.start", "Slice: first element."}, members_of(slice, &ir::SliceDim::start));
  few({"slice.stride", "Slice: step."}, members_of(slice, &ir::SliceDim::stride));
  few({"slice.limit", "Slice: one past the last element."},
      members_of(slice, &ir::SliceDim::limit));
  const auto* const dynamic = node.get<ir::DynamicSliceAttrs>();
  few({"dynamic_slice_sizes", "Dynamic slice: elements taken."},
      dynamic == nullptr ? Dims() : dynamic->sizes);
  const auto* const padded = node.get<ir::PadAttrs>();
  const auto* const pad = padded == nullptr ? nullptr : &padded->dims;
  few({"pad.low", "Pad: elements before."}, members_of(pad, &ir::PadDim::low));
  few({"pad.high", "Pad: elements after."}, members_of(pad, &ir::PadDim::high));
  to.value({"is_stable", "1 for a sort that keeps equal elements in order, else 0."},
           node.is_stable ? 1 : 0);
}

}  // namespace

std::int32_t tpugraphs_opcode(ir::Opcode opcode) {
  static const std::vector<std::int32_t> numbers = [] {
    std::vector<std::int32_t> found(std::size_t{UINT8_MAX} + 1, 0);
    for (std::size_t i = 0; i < std::size(kNumbered); ++i) {
      // Compares the current spelling: "tuple-select" is parsed as select, but is another opcode.
      const auto known = ir::parse_opcode(kNumbered[i]);
      if (known && ir::name(*known) == kNumbered[i])
        found[static_cast<std::size_t>(*known)] = static_cast<std::int32_t>(i + 1);
    }
    return found;
  }();
  return numbers[static_cast<std::size_t>(opcode)];
}

void tpugraphs_columns(const NodeView& node, Columns& to) {
  shape_columns(node, to);
  const NodeWindow windowed(node);
  window_columns(windowed.window, to);
  convolution_columns(windowed, to);
  movement_columns(node, to);
  const bool has_layout = node.shape != nullptr && node.shape->layout.has_value();
  to.entries({"layout", "Layout: dimension numbers, fastest varying first."},
             has_layout ? node.shape->layout->minor_to_major : Dims(), kDims);
}

}  // namespace tilecast::learned
