#include "learned/tpugraphs_graph.h"

#include <algorithm>
#include <array>

#include "learned/node_columns.h"

namespace tilecast::learned {
namespace {

using ir::Dims;
using Text = NodeColumns::Text;
constexpr std::size_t kDims = 6;     // of a tensor, a window, a layout
constexpr std::size_t kFew = 2;      // of a slice or padding configuration
constexpr std::size_t kSpatial = 4;  // of a convolution
constexpr double kProductOfNone = 1;

// Opcodes by their number, from 1 on. Facts of the data set: its hlo_opcode table (TpuGraphs,
// google-research-datasets/tpu_graphs). "trace" and "tuple-select" are no longer HLO.
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

template <class Entries, class Member>
Dims each(const Entries* entries, Member member) {
  Dims found;
  if (entries == nullptr) return found;
  for (const auto& entry : *entries) found.push_back(entry.*member);
  return found;
}

struct Convolution {
  const ir::Window* window = nullptr;
  const ir::ConvDims* dims = nullptr;
  std::int64_t feature_groups = 0, batch_groups = 0;
};

Convolution convolution(const NodeView& node) {
  if (const auto* const conv = node.get<ir::ConvAttrs>()) {
    return {&conv->window, &conv->dims, conv->feature_group_count, conv->batch_group_count};
  }
  const auto* const call = node.get<ir::CustomCallAttrs>();
  if (call != nullptr && call->dims) {
    return {&call->window, &*call->dims, call->feature_group_count, call->batch_group_count};
  }
  if (const auto* const windowed = node.get<ir::WindowAttrs>()) return {&windowed->window, {}};
  return {};
}

void shape_columns(const NodeView& node, NodeColumns& to) {
  const ir::Shape none;
  const ir::Shape& shape = node.shape == nullptr ? none : *node.shape;
  to.value({"is_root", "1", "1 where this op is its computation's result, else 0."},
           node.is_output ? 1 : 0);
  to.value({"unused", "1", "Always 0."}, 0);
  for (const ir::DType dtype : kDTypes) {
    const std::string name = "dtype." + std::string(ir::name(dtype));
    to.value({name, "1", "1 where this is the element type of the result, else 0."},
             node.shape != nullptr && shape.dtype == dtype ? 1 : 0);
  }
  to.list({"shape", "1", "Elements along the dimensions of the result, as the program has them."},
          shape.dims, kDims, kProductOfNone);
  to.value({"tuple_size", "1", "Elements of a tuple, else 0."},
           shape.is_tuple() ? static_cast<double>(shape.elements.size()) : 0);
  to.value({"parameter_number", "1", "Number of a parameter, from 0."},
           static_cast<double>(node.parameter));
  Dims dimensions;
  if (node.dimensions != nullptr) dimensions = *node.dimensions;
  if (node.opcode == ir::Opcode::kIota && node.get<ir::IndexAttrs>() != nullptr) {
    dimensions = {node.get<ir::IndexAttrs>()->index};
  }
  to.entries({"dimensions", "1", "Dimension numbers the op names: reduced, broadcast to ..."},
             dimensions, kDims);
}

void window_columns(const ir::Window* window, NodeColumns& to) {
  const auto list = [&](const Text& text, std::int64_t ir::WindowDim::*member) {
    to.list(text, each(window, member), kDims, kProductOfNone);
  };
  list({"window.size", "1", "Window: elements."}, &ir::WindowDim::size);
  list({"window.stride", "1", "Window: step between positions."}, &ir::WindowDim::stride);
  list({"window.pad_low", "1", "Window: padding before."}, &ir::WindowDim::pad_low);
  list({"window.pad_high", "1", "Window: padding after."}, &ir::WindowDim::pad_high);
  list({"window.dilation", "1", "Window: step between elements of the window."},
       &ir::WindowDim::window_dilation);
  list({"window.base_dilation", "1", "Window: step between input elements, holes between."},
       &ir::WindowDim::base_dilation);
  Dims reversed;
  if (window != nullptr) {
    for (const ir::WindowDim& dim : *window) reversed.push_back(dim.reversal ? 1 : 0);
  }
  const auto backwards = std::count(reversed.begin(), reversed.end(), 1);
  to.entries({"window.reversal", "1", "Window: 1 where the dimension runs backwards."}, reversed,
             kDims);
  to.value({"window.reversal.true", "1", "Window: dimensions that run backwards."},
           static_cast<double>(backwards));
  to.value({"window.reversal.false", "1", "Window: dimensions that run forwards."},
           static_cast<double>(reversed.size()) - static_cast<double>(backwards));
}

void convolution_columns(const Convolution& conv, NodeColumns& to) {
  ir::ConvDims dims;
  if (conv.dims != nullptr) dims = *conv.dims;
  // Dimension numbers; 0 where there is none, as for every op that is no convolution.
  const auto number = [&](const Text& text, int dimension) {
    to.value(text, std::max(dimension, 0));
  };
  number({"conv.input_batch", "1", "Convolution: batch dimension of the input."}, dims.input_batch);
  number({"conv.input_feature", "1", "Convolution: feature dimension of the input."},
         dims.input_feature);
  to.entries({"conv.input_spatial", "1", "Convolution: spatial dimensions of the input."},
             dims.input_spatial, kSpatial);
  number({"conv.kernel_input_feature", "1", "Convolution: input feature dimension of the kernel."},
         dims.kernel_input_feature);
  number(
      {"conv.kernel_output_feature", "1", "Convolution: output feature dimension of the kernel."},
      dims.kernel_output_feature);
  to.entries({"conv.kernel_spatial", "1", "Convolution: spatial dimensions of the kernel."},
             dims.kernel_spatial, kSpatial);
  number({"conv.output_batch", "1", "Convolution: batch dimension of the result."},
         dims.output_batch);
  number({"conv.output_feature", "1", "Convolution: feature dimension of the result."},
         dims.output_feature);
  to.value({"conv.feature_groups", "1", "Convolution: feature_group_count, else 0."},
           static_cast<double>(conv.feature_groups));
  to.value({"conv.batch_groups", "1", "Convolution: batch_group_count, else 0."},
           static_cast<double>(conv.batch_groups));
}

void movement_columns(const NodeView& node, NodeColumns& to) {
  const auto* const sliced = node.get<ir::SliceAttrs>();
  const auto* const slice = sliced == nullptr ? nullptr : &sliced->dims;
  const auto few = [&](const Text& text, const Dims& values) {
    to.list(text, values, kFew, kProductOfNone);
  };
  few({"slice.start", "1", "Slice: first element."}, each(slice, &ir::SliceDim::start));
  few({"slice.stride", "1", "Slice: step."}, each(slice, &ir::SliceDim::stride));
  few({"slice.limit", "1", "Slice: one past the last element."}, each(slice, &ir::SliceDim::limit));
  const auto* const dynamic = node.get<ir::DynamicSliceAttrs>();
  few({"dynamic_slice_sizes", "1", "Dynamic slice: elements taken."},
      dynamic == nullptr ? Dims() : dynamic->sizes);
  const auto* const padded = node.get<ir::PadAttrs>();
  const auto* const pad = padded == nullptr ? nullptr : &padded->dims;
  few({"pad.low", "1", "Pad: elements before."}, each(pad, &ir::PadDim::low));
  few({"pad.high", "1", "Pad: elements after."}, each(pad, &ir::PadDim::high));
  to.value({"is_stable", "1", "1 for a sort that keeps equal elements in order, else 0."},
           node.is_stable ? 1 : 0);
}

struct NodeIds {
  std::vector<std::size_t> first;  // node of a computation's first instruction, by computation
  std::size_t count = 0;

  explicit NodeIds(const ir::Module& module) {
    for (const ir::Computation& computation : module.computations) {
      first.push_back(count);
      count += computation.instructions.size();
    }
  }
  [[nodiscard]] std::int32_t of(ir::ComputationId computation, ir::InstrId instruction) const {
    return static_cast<std::int32_t>(first[computation.index()] + instruction.index());
  }
};

NodeView view(const ir::Computation& computation, ir::InstrId id) {
  const ir::Instruction& instruction = computation.at(id);
  NodeView view;
  view.opcode = instruction.opcode;
  view.shape = &instruction.shape;
  view.dimensions = &instruction.dimensions;
  view.attrs = &instruction.attrs;
  if (const auto* const parameter = instruction.get<ir::ParameterAttrs>()) {
    view.parameter = parameter->number;
  }
  view.is_output = id == computation.root;
  const std::string* const stable = instruction.find_raw("is_stable");
  view.is_stable = stable != nullptr && *stable == "true";
  return view;
}

}  // namespace

std::int32_t tpugraphs_opcode(ir::Opcode opcode) {
  static const std::vector<std::int32_t> numbers = [] {
    std::vector<std::int32_t> found(std::size_t{UINT8_MAX} + 1, 0);
    for (std::size_t i = 0; i < std::size(kNumbered); ++i) {
      // Spelled as today: "tuple-select" is another opcode than the select it is read as now.
      const auto known = ir::parse_opcode(kNumbered[i]);
      if (known && ir::name(*known) == kNumbered[i])
        found[static_cast<std::size_t>(*known)] = static_cast<std::int32_t>(i + 1);
    }
    return found;
  }();
  return numbers[static_cast<std::size_t>(opcode)];
}

void tpugraphs_columns(const NodeView& node, NodeColumns& to) {
  shape_columns(node, to);
  const Convolution conv = convolution(node);
  window_columns(conv.window, to);
  convolution_columns(conv, to);
  movement_columns(node, to);
  const bool has_layout = node.shape != nullptr && node.shape->layout.has_value();
  to.entries({"layout", "1", "Layout: dimension numbers, fastest varying first."},
             has_layout ? node.shape->layout->minor_to_major : Dims(), kDims);
}

KernelGraph make_tpugraphs_graph(const ir::Module& module) {
  const NodeIds ids(module);
  KernelGraph graph;
  NodeColumns row(&graph.features);
  for (const ir::Computation& computation : module.computations) {
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      graph.opcodes.push_back(tpugraphs_opcode(computation.instructions[i].opcode));
      tpugraphs_columns(view(computation, ir::InstrId(i)), row);
    }
  }
  EdgeList edges(graph);
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const ir::Computation& computation = module.computations[c];
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const std::int32_t consumer = ids.of(ir::ComputationId(c), ir::InstrId(i));
      for (const ir::InstrId operand : computation.instructions[i].operands) {
        edges.add(ids.of(ir::ComputationId(c), operand), consumer);
      }
      for (const ir::ComputationId called : computation.instructions[i].called) {
        edges.add(ids.of(called, module.at(called).root), consumer);
      }
    }
  }
  order_nodes({ids.of(module.entry, module.entry_computation().root)}, graph);
  return graph;
}

}  // namespace tilecast::learned
