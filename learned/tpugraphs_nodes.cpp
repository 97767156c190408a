#include <algorithm>
#include <array>

#include "learned/node_columns.h"

namespace tilecast::learned {
namespace {

using ir::Dims;
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
