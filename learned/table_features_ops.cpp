#include <algorithm>
#include <cmath>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Arithmetic;
using ir::Op;
using ir::OpClass;
using ir::Opcode;

// Classes that occur inside kernels; fusions are inlined and control flow is flattened.
constexpr auto kClasses = std::to_array<OpClass>(
    {OpClass::kFree, OpClass::kElementwise, OpClass::kTranscendental, OpClass::kMatrix,
     OpClass::kReduction, OpClass::kDataMovement, OpClass::kIndexed, OpClass::kSort,
     OpClass::kRandom, OpClass::kNormalization, OpClass::kLinearAlgebra, OpClass::kCollective,
     OpClass::kCustomCall});
constexpr std::size_t kOther = kClasses.size();
using ClassValues = std::array<double, kClasses.size() + 1>;

Columns::PartName class_part(std::size_t part) {
  if (part == kOther) return {"other", "any other class"};
  const std::string words(ir::name(kClasses[part]));
  std::string name = words;
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return {name, "class " + words};
}

constexpr std::size_t kAllClasses = 32;
constexpr auto kClassColumn = [] {
  std::array<std::uint8_t, kAllClasses> column{};
  column.fill(kOther);
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    column[static_cast<std::size_t>(kClasses[i])] = static_cast<std::uint8_t>(i);
  }
  return column;
}();

struct OpsFacts {
  double ops = 0, edges = 0, depth = 0, shared = 0, parameters = 0, outputs = 0;
  ClassValues counts{}, elements{};
  double largest = 0, total_elements = 0, work_per_output = kMissing, multiply_adds = 0;
  double dtype_bytes_min = kMissing, dtype_bytes_max = kMissing;
  double parameter_bytes = 0, output_bytes = 0, footprint = 0, intensity = kMissing;
  double operations_per_byte = kMissing;
  double transposes = 0, minor_moved = 0, reversed = 0, padded = 0, concatenated = 0;
  double concatenate_operands = 0, sliced = 0, slice_stride = 1, dynamic_slices = 0, gathered = 0;
  double broadcast = 0, broadcast_factor = 1, minor_broadcast = 0;
  double minor_reduced = 0, major_reduced = 0, window_applications = 0, reduce_flops = 0;
  double compared = 0, reduced_row = kMissing, run = kMissing;
  double divided = 0, roots = 0, exponentials = 0, logarithms = 0, slow_functions = 0;
  double converted = 0, selected = 0, integer = 0, narrow = 0, wide = 0;
};

void size_columns(const OpsFacts& facts, Columns& to) {
  to.value({"total", "Ops of the kernel, parameters and constants too."}, facts.ops);
  to.value({"edges", "Operands of all ops together."}, facts.edges);
  to.value({"depth", "Ops on the longest way from inputs to outputs."}, facts.depth);
  to.value({"shared", "Ops but parameters and constants that more than one op uses."},
           facts.shared);
  to.value({"parameters", "Arrays the kernel gets."}, facts.parameters);
  to.value({"outputs", "Arrays the kernel gives."}, facts.outputs);
  to.parts({"count", "Ops by kind of work"}, facts.counts, class_part);
  to.parts({"elements", "Elements of the results, of reductions those of the input"},
           facts.elements, class_part);
  to.value({"largest", "Elements of the largest value."}, facts.largest);
  to.value({"total_elements", "Elements of all ops that do work, together."}, facts.total_elements);
  to.value({"work_per_output", "ops.total_elements over the elements of the outputs."},
           facts.work_per_output);
  to.value({"multiply_adds", "Multiply-adds of dots and convolutions, padding counted."},
           facts.multiply_adds);
  to.value({"dtype_bytes_min", "Size of the narrowest element type of an array.", "B"},
           facts.dtype_bytes_min);
  to.value({"dtype_bytes_max", "Size of the widest element type of an array.", "B"},
           facts.dtype_bytes_max);
  to.value({"parameter_bytes", "Bytes of all parameters, used or not, without padding.", "B"},
           facts.parameter_bytes);
  to.value({"output_bytes", "Bytes of all outputs, without padding.", "B"}, facts.output_bytes);
  to.value({"footprint", "Bytes of parameters and outputs.", "B"}, facts.footprint);
  to.value({"intensity", "static.flops over the bytes read and written.", "1/B"}, facts.intensity);
  to.value({"operations_per_byte", "ops.total_elements over the bytes read and written.", "1/B"},
           facts.operations_per_byte);
}

void pattern_columns(const OpsFacts& facts, Columns& to) {
  to.value({"transposes", "Transpositions that move data."}, facts.transposes);
  to.value(
      {"minor_moved",
       "Elements that transpositions and copies read with a stride in the minor-most dimension."},
      facts.minor_moved);
  to.value({"reversed", "Elements reversed."}, facts.reversed);
  to.value({"padded", "Elements of padded results."}, facts.padded);
  to.value({"concatenated", "Elements of concatenated results."}, facts.concatenated);
  to.value({"concatenate_operands", "Operands of all concatenations."}, facts.concatenate_operands);
  to.value({"sliced", "Elements cut out by slices."}, facts.sliced);
  to.value({"slice_stride", "Largest stride of a slice in the minor-most dimension."},
           facts.slice_stride);
  to.value({"dynamic_slices", "Dynamic slices and updates: their places are known at run time."},
           facts.dynamic_slices);
  to.value({"gathered", "Elements of gathered results and of scattered updates."}, facts.gathered);
  to.value({"broadcast", "Elements of broadcast results, scalars spread not counted."},
           facts.broadcast);
  to.value({"broadcast_factor", "Largest ratio of result to operand, scalars not counted."},
           facts.broadcast_factor);
  to.value({"minor_broadcast",
            "Elements of broadcasts that repeat one value along the minor-most dimension."},
           facts.minor_broadcast);
  to.value({"minor_reduced", "Input elements of reductions over the minor-most dimension."},
           facts.minor_reduced);
  to.value({"major_reduced", "Input elements of reductions that keep the minor-most dimension."},
           facts.major_reduced);
  to.value({"compared",
            "Input elements of reductions by maximum or minimum, which many vector units cannot "
            "reorder."},
           facts.compared);
  to.value({"reduced_row",
            "Shortest run of elements along the minor-most dimension that a reduction sums up."},
           facts.reduced_row);
  to.value(
      {"run",
       "Length of the minor-most dimension of the ops that do work: harmonic mean, by elements."},
      facts.run);
  to.value({"window_applications",
            "Results of window reductions and scans, times the size of the window."},
           facts.window_applications);
  to.value({"reduce_flops", "Most operations in one application of a reduction's function."},
           facts.reduce_flops);
}

void arithmetic_columns(const OpsFacts& facts, Columns& to) {
  to.value({"divided", "Elements of divisions and remainders."}, facts.divided);
  to.value({"roots", "Elements of square and cube roots."}, facts.roots);
  to.value({"exponentials", "Elements of exp, expm1, tanh, logistic and erf."}, facts.exponentials);
  to.value({"logarithms", "Elements of log and log1p."}, facts.logarithms);
  to.value({"slow_functions", "Elements of power, trigonometric and hyperbolic functions."},
           facts.slow_functions);
  to.value({"converted", "Elements of type conversions."}, facts.converted);
  to.value({"selected", "Elements of select, compare and clamp."}, facts.selected);
  to.value({"integer", "Elements of arithmetic that is not floating."}, facts.integer);
  to.value({"narrow", "Elements of arithmetic in 16 bits or fewer."}, facts.narrow);
  to.value({"wide", "Elements of arithmetic in 64 bits."}, facts.wide);
}

double operand_elements(const KernelScan& scan, const Op& op) {
  return op.operands.empty() ? 0 : scan.elements[op.operands[0].index()];
}

const ir::Shape* operand_shape(const KernelScan& scan, const Op& op) {
  return op.operands.empty() ? nullptr : &scan.kernel->op(op.operands[0]).shape;
}

double window_size(const Op& op) {
  double size = 1;
  if (const auto* attrs = op.get<ir::WindowAttrs>()) {
    for (const ir::WindowDim& d : attrs->window) size *= static_cast<double>(d.size);
  }
  return size;
}

void add_transpose(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  const ir::Shape* from = operand_shape(scan, op);
  if (from == nullptr || !op.shape.is_array() || op.shape.rank() < 2) return;
  const int minor = minor_dimension(op.shape);
  const bool mapped =
      op.opcode == Opcode::kTranspose && static_cast<std::size_t>(minor) < op.dimensions.size();
  const std::int64_t source = mapped ? op.dimensions[minor] : minor;
  if (op.opcode == Opcode::kTranspose) facts.transposes += 1;
  if (source != minor_dimension(*from)) facts.minor_moved += elements;
}

void add_broadcast(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  const double from = operand_elements(scan, op);
  if (from <= 1) return;
  facts.broadcast += elements;
  facts.broadcast_factor = std::max(facts.broadcast_factor, elements / from);
  if (!contains(op.dimensions, minor_dimension(op.shape))) facts.minor_broadcast += elements;
}

void add_slice(const Op& op, double elements, OpsFacts& facts) {
  facts.sliced += elements;
  const auto* slice = op.get<ir::SliceAttrs>();
  const int minor = minor_dimension(op.shape);
  if (slice == nullptr || minor < 0 || static_cast<std::size_t>(minor) >= slice->dims.size())
    return;
  facts.slice_stride = std::max(facts.slice_stride, static_cast<double>(slice->dims[minor].stride));
}

// The counter of elements for this opcode; nullptr if it depends on more than the opcode.
double OpsFacts::*counter_of(Opcode opcode) {
  if (opcode == Opcode::kReverse) return &OpsFacts::reversed;
  if (opcode == Opcode::kPad) return &OpsFacts::padded;
  if (opcode == Opcode::kConcatenate) return &OpsFacts::concatenated;
  switch (ir::arithmetic(opcode)) {
    case Arithmetic::kDivision:
      return &OpsFacts::divided;
    case Arithmetic::kConversion:
      return &OpsFacts::converted;
    case Arithmetic::kSelection:
      return &OpsFacts::selected;
    case Arithmetic::kRoot:
      return &OpsFacts::roots;
    case Arithmetic::kExponential:
      return &OpsFacts::exponentials;
    case Arithmetic::kLogarithm:
      return &OpsFacts::logarithms;
    default:
      return ir::op_class(opcode) == OpClass::kTranscendental ? &OpsFacts::slow_functions : nullptr;
  }
}

void add_movement(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  const auto is = [&](ir::Trait trait) { return ir::has(op.opcode, trait); };
  if (is(ir::Trait::kRelayout) && !is(ir::Trait::kReshapes)) {
    add_transpose(scan, op, elements, facts);
  } else if (is(ir::Trait::kSpreads)) {
    add_broadcast(scan, op, elements, facts);
  } else if (op.opcode == Opcode::kSlice) {
    add_slice(op, elements, facts);
  } else if (op.opcode == Opcode::kConcatenate) {
    facts.concatenate_operands += static_cast<double>(op.operands.size());
  } else if (is(ir::Trait::kSlices) || is(ir::Trait::kUpdates)) {
    facts.dynamic_slices += 1;
  }
}

void add_reduction(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  facts.reduce_flops = std::max(facts.reduce_flops, op.applied_flops);
  if (op.opcode != Opcode::kReduce) {
    facts.window_applications += std::max(elements, 1.0) * window_size(op);
    return;
  }
  const ir::Shape* from = operand_shape(scan, op);
  if (from == nullptr) return;
  const int innermost = minor_dimension(*from);
  const bool minor = contains(op.dimensions, innermost);
  (minor ? facts.minor_reduced : facts.major_reduced) += operand_elements(scan, op);
  if (minor) facts.reduced_row = std::fmin(facts.reduced_row, minor_size(*from));
  if (op.applied && ir::arithmetic(*op.applied) == Arithmetic::kExtremum) {
    facts.compared += operand_elements(scan, op);
  }
}

void add_arithmetic(const Op& op, double elements, OpsFacts& facts) {
  if (!ir::is_floating(op.shape.dtype)) facts.integer += elements;
  if (ir::bits(op.shape.dtype) <= 16) facts.narrow += elements;
  if (ir::bits(op.shape.dtype) >= 64) facts.wide += elements;
}

// Work is counted in elements of the input for reductions, else of the result.
double worked_elements(const KernelScan& scan, const Op& op, double elements) {
  const bool reduces = ir::op_class(op.opcode) == OpClass::kReduction;
  return reduces ? operand_elements(scan, op) : elements;
}

double run_of(const KernelScan& scan, const Op& op) {
  const ir::Shape* from = operand_shape(scan, op);
  const bool reduces = ir::op_class(op.opcode) == OpClass::kReduction && from != nullptr;
  return std::max(minor_size(reduces ? *from : op.shape), 1.0);
}

void add_op(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  const OpClass work = ir::op_class(op.opcode);
  const double worked = worked_elements(scan, op, elements);
  const std::size_t column = kClassColumn[static_cast<std::size_t>(work)];
  facts.counts[column] += 1;
  facts.elements[column] += worked;
  facts.largest = std::max(facts.largest, elements);
  facts.edges += static_cast<double>(op.operands.size());
  if (op.shape.is_array() && !op.shape.dims.empty()) {
    const double bytes = ir::storage_bytes(op.shape.dtype);
    facts.dtype_bytes_min = std::fmin(facts.dtype_bytes_min, bytes);
    facts.dtype_bytes_max = std::fmax(facts.dtype_bytes_max, bytes);
  }
  if (work == OpClass::kFree) return;
  facts.total_elements += worked;
  if (work == OpClass::kElementwise) add_arithmetic(op, elements, facts);
  if (const auto counter = counter_of(op.opcode)) facts.*counter += elements;
  if (work == OpClass::kDataMovement) add_movement(scan, op, elements, facts);
  if (work == OpClass::kReduction) add_reduction(scan, op, elements, facts);
  if (work == OpClass::kIndexed) {
    const bool scatters = ir::has(op.opcode, ir::Trait::kUpdates) && op.operands.size() > 2;
    facts.gathered += scatters ? scan.elements[op.operands.back().index()] : elements;
  }
}

OpsFacts facts_of_ops(const KernelScan& scan) {
  OpsFacts facts;
  double runs = 0;
  const std::span<const Op> ops = scan.kernel->ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    add_op(scan, ops[i], scan.elements[i], facts);
    facts.depth = std::max(facts.depth, scan.depth[i]);
    const bool works = ir::op_class(ops[i].opcode) != OpClass::kFree;
    if (works && scan.uses[i] > 1) facts.shared += 1;
    if (works) runs += worked_elements(scan, ops[i], scan.elements[i]) / run_of(scan, ops[i]);
  }
  facts.run = ratio(facts.total_elements, runs);
  facts.ops = static_cast<double>(ops.size());
  facts.parameters = static_cast<double>(scan.kernel->parameters().size());
  facts.outputs = static_cast<double>(scan.kernel->outputs().size());
  facts.multiply_adds = scan.multiply_adds;
  double output_elements = 0;
  for (const ir::OpId id : scan.kernel->outputs()) output_elements += scan.elements[id.index()];
  facts.work_per_output = ratio(facts.total_elements, output_elements);
  facts.parameter_bytes = scan.parameter_bytes;
  facts.output_bytes = scan.output_bytes;
  facts.footprint = scan.parameter_bytes + scan.output_bytes;
  const double bytes = scan.bytes_read + scan.bytes_written;
  facts.intensity = ratio(scan.flops, bytes);
  facts.operations_per_byte = ratio(facts.total_elements, bytes);
  return facts;
}

}  // namespace

void ops_columns(const KernelScan& scan, Columns& to) {
  const OpsFacts facts = scan.kernel == nullptr ? OpsFacts{} : facts_of_ops(scan);
  size_columns(facts, to);
  pattern_columns(facts, to);
  arithmetic_columns(facts, to);
}

namespace {

using Text = Columns::Text;

double flag(bool value) {
  return value ? 1 : 0;
}

// Sizes in layout order, most major first.
ir::Dims physical_dims(const ir::Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  const bool laid_out = shape.layout && shape.layout->minor_to_major.size() == rank;
  ir::Dims sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto dim =
        laid_out ? static_cast<std::size_t>(shape.layout->minor_to_major[rank - 1 - i]) : i;
    sizes.push_back(std::max<std::int64_t>(shape.dims[dim], 0));
  }
  return sizes;
}

struct ArrayTexts {
  Text sizes, rank, minor, dtype;
};
constexpr ArrayTexts kOutput = {
    {"output", "Sizes of the largest output as laid out, most major first."},
    {"output_rank", "Number of dimensions of the largest output."},
    {"output_minor", "Elements next to each other in the largest output."},
    {"output_dtype_bytes", "Size of an element of the largest output.", "B"}};
constexpr ArrayTexts kParameter = {
    {"parameter", "Sizes of the largest parameter as laid out, most major first."},
    {"parameter_rank", "Number of dimensions of the largest parameter."},
    {"parameter_minor", "Elements next to each other in the largest parameter."},
    {"parameter_dtype_bytes", "Size of an element of the largest parameter.", "B"}};

void array_columns(const ArrayTexts& texts, const Op* op, Columns& to) {
  if (op == nullptr) {
    to.list(texts.sizes, nullptr, kListEntries, 1);
    for (const Text& text : {texts.rank, texts.minor, texts.dtype}) to.value(text, kMissing);
    return;
  }
  to.list(texts.sizes, physical_dims(op->shape), kListEntries, 1);
  to.value(texts.rank, op->shape.rank());
  to.value(texts.minor, minor_size(op->shape));
  to.value(texts.dtype, ir::storage_bytes(op->shape.dtype));
}

void matrix_columns(const KernelScan& scan, Columns& to) {
  double lhs_contracted = kMissing, rhs_contracted = kMissing;
  if (scan.matrix != nullptr) {
    const int lhs = minor_dimension(scan.kernel->op(scan.matrix->operands[0]).shape);
    const int rhs = minor_dimension(scan.kernel->op(scan.matrix->operands[1]).shape);
    if (const auto* conv = scan.matrix->get<ir::ConvAttrs>()) {
      lhs_contracted = flag(lhs == conv->dims.input_feature);
      rhs_contracted = flag(rhs != conv->dims.kernel_output_feature);
    } else if (const auto* dot = scan.matrix->get<ir::DotAttrs>()) {
      lhs_contracted = flag(contains(dot->dims.lhs_contracting, lhs));
      rhs_contracted = flag(contains(dot->dims.rhs_contracting, rhs));
    }
  }
  const auto value = [&](const Text& text, double number) {
    to.value(text, scan.matrix == nullptr ? kMissing : number);
  };
  value({"matrix_batch", "Independent products of the dot or convolution with most work."},
        scan.sizes.batch);
  value({"matrix_m", "Rows of that product: of convolutions, output positions times batch."},
        scan.sizes.m);
  value({"matrix_n", "Columns of that product: of convolutions, output features."}, scan.sizes.n);
  value({"matrix_k",
         "Terms of each sum of that product: of convolutions, window times input features."},
        scan.sizes.k);
  value({"lhs_minor_contracted",
         "1 if the elements next to each other in the left operand are summed over, else 0."},
        lhs_contracted);
  value({"rhs_minor_contracted",
         "1 if the elements next to each other in the right operand are summed over, else 0."},
        rhs_contracted);
}

// The product over the window's dimensions; the sum of padding.
struct WindowFacts {
  double size = 1, stride = 1, padding = 0, base_dilation = 1, dilation = 1;

  explicit WindowFacts(const ir::Window& window) {
    for (const ir::WindowDim& d : window) {
      size *= static_cast<double>(d.size);
      stride *= static_cast<double>(d.stride);
      padding += static_cast<double>(d.pad_low) + static_cast<double>(d.pad_high);
      base_dilation *= static_cast<double>(d.base_dilation);
      dilation *= static_cast<double>(d.window_dilation);
    }
  }
};

void convolution_columns(const KernelScan& scan, Columns& to) {
  static const ir::ConvAttrs kNone;
  const auto* found = scan.matrix == nullptr ? nullptr : scan.matrix->get<ir::ConvAttrs>();
  const ir::ConvAttrs& conv = found == nullptr ? kNone : *found;
  const ir::Shape none;
  const ir::Shape& out = found == nullptr ? none : scan.matrix->shape;
  const ir::Shape& rhs = found == nullptr ? none : scan.kernel->op(scan.matrix->operands[1]).shape;
  const WindowFacts window(conv.window);
  double spatial = 1;
  for (const std::int64_t d : conv.dims.output_spatial) spatial *= dimension_size(out, d);
  const auto value = [&](const Text& text, double number) {
    to.value(text, found == nullptr ? kMissing : number);
  };
  value({"conv_batch", "Batch of the convolution."}, dimension_size(out, conv.dims.output_batch));
  value({"conv_spatial", "Output positions of the convolution."}, spatial);
  value({"conv_in", "Input features of one group of the convolution."},
        dimension_size(rhs, conv.dims.kernel_input_feature));
  value({"conv_out", "Output features of the convolution."},
        dimension_size(out, conv.dims.output_feature));
  value({"conv_window", "Positions of its window."}, window.size);
  value({"conv_stride", "Product of its strides over the dimensions."}, window.stride);
  value({"conv_padding", "Sum of its padding, both sides of all dimensions."}, window.padding);
  value({"conv_base_dilation", "Product of its dilations of the input."}, window.base_dilation);
  value({"conv_window_dilation", "Product of its dilations of the window."}, window.dilation);
  value({"conv_groups", "Groups of its features or of its batch."},
        static_cast<double>(std::max(conv.feature_group_count, conv.batch_group_count)));
}

struct ReductionFacts {
  double size = kMissing, kept = kMissing, dimensions = kMissing, minor = kMissing;
  double window_size = kMissing, window_stride = kMissing;

  explicit ReductionFacts(const KernelScan& scan) {
    if (scan.reduction == nullptr || scan.reduction->operands.empty()) return;
    const Op& op = *scan.reduction;
    const ir::Shape& from = scan.kernel->op(op.operands[0]).shape;
    const bool several = op.shape.is_tuple() && !op.shape.elements.empty();
    kept = elements_of(several ? op.shape.elements[0] : op.shape);  // elements of one result
    if (const auto* attrs = op.get<ir::WindowAttrs>()) {
      const WindowFacts window(attrs->window);
      size = window_size = window.size;
      window_stride = window.stride;
      dimensions = 0;
      for (std::size_t d = 0; d < attrs->window.size(); ++d) {
        const bool reduces = attrs->window[d].size > 1;
        dimensions += flag(reduces);
        if (static_cast<int>(d) == minor_dimension(from)) minor = flag(reduces);
      }
      return;
    }
    size = ratio(elements_of(from), kept);
    dimensions = static_cast<double>(op.dimensions.size());
    minor = flag(contains(op.dimensions, minor_dimension(from)));
  }
};

void reduction_columns(const KernelScan& scan, Columns& to) {
  const ReductionFacts facts(scan);
  to.value({"reduce_size", "Elements that make one result of the largest reduction."}, facts.size);
  to.value({"reduce_kept", "Results of that reduction."}, facts.kept);
  to.value({"reduce_dimensions", "Number of dimensions it reduces."}, facts.dimensions);
  to.value({"reduce_minor", "1 if it reduces elements that are next to each other, else 0."},
           facts.minor);
  to.value({"window_size", "Positions of its window, where it is a window reduction."},
           facts.window_size);
  to.value({"window_stride", "Product of the strides of that window."}, facts.window_stride);
}

}  // namespace

void shape_columns(const KernelScan& scan, Columns& to) {
  array_columns(kOutput, scan.largest_output, to);
  array_columns(kParameter, scan.largest_parameter, to);
  matrix_columns(scan, to);
  convolution_columns(scan, to);
  reduction_columns(scan, to);
}

namespace {

double product_of(const ir::Shape& shape, const ir::Dims& dimensions) {
  double product = 1;
  for (const std::int64_t d : dimensions) product *= dimension_size(shape, d);
  return product;
}

MatrixSizes dot_sizes(const ir::DotDims& dims, const ir::Shape& lhs, const ir::Shape& rhs) {
  MatrixSizes sizes;
  sizes.batch = product_of(lhs, dims.lhs_batch);
  sizes.k = product_of(lhs, dims.lhs_contracting);
  const double shared = std::max(sizes.batch * sizes.k, 1.0);
  sizes.m = elements_of(lhs) / shared;
  sizes.n = elements_of(rhs) / shared;
  return sizes;
}

MatrixSizes conv_sizes(const ir::ConvAttrs& attrs, const ir::Shape& rhs, const ir::Shape& out) {
  MatrixSizes sizes;
  sizes.n = dimension_size(out, attrs.dims.output_feature);
  sizes.m = elements_of(out) / std::max(sizes.n, 1.0);
  sizes.k = product_of(rhs, attrs.dims.kernel_spatial) *
            dimension_size(rhs, attrs.dims.kernel_input_feature);
  return sizes;
}

double known(double count) {
  return count < 0 ? kMissing : count;
}

double operand_bytes_read(const ir::WorkCounts& work) {
  double bytes = 0;
  for (const float operand : work.operand_bytes) bytes += std::max(operand, 0.0F);
  return work.operand_bytes.empty() ? std::max(0.0F, work.bytes_accessed - work.output_bytes)
                                    : bytes;
}

const ir::Shape& first_operand(const ir::Kernel& kernel, const Op& op) {
  return op.operands.empty() ? op.shape : kernel.op(op.operands[0]).shape;
}

struct Largest {
  const Op* op = nullptr;
  double size = -1;
  void offer(const Op& candidate, double candidate_size) {
    if (candidate_size <= size) return;
    op = &candidate;
    size = candidate_size;
  }
};

// Unpadded bytes of one array.
double array_bytes(const ir::Shape& shape) {
  return elements_of(shape) * ir::storage_bytes(shape.dtype);
}

std::optional<MatrixSizes> matrix_sizes(const ir::Kernel& kernel, const Op& op) {
  if (ir::op_class(op.opcode) != OpClass::kMatrix || op.operands.size() < 2) return std::nullopt;
  const ir::Shape& rhs = kernel.op(op.operands[1]).shape;
  if (const auto* conv = op.get<ir::ConvAttrs>()) return conv_sizes(*conv, rhs, op.shape);
  const auto* dot = op.get<ir::DotAttrs>();
  if (dot == nullptr) return std::nullopt;
  return dot_sizes(dot->dims, kernel.op(op.operands[0]).shape, rhs);
}

}  // namespace

double elements_of(const ir::Shape& shape) {
  if (!shape.is_array()) return 0;
  double elements = 1;
  for (const std::int64_t size : shape.dims) {
    elements *= static_cast<double>(std::max<std::int64_t>(size, 0));
  }
  return elements;
}

int minor_dimension(const ir::Shape& shape) {
  const bool laid_out = shape.layout && !shape.layout->minor_to_major.empty();
  return laid_out ? static_cast<int>(shape.layout->minor_to_major[0]) : shape.rank() - 1;
}

double dimension_size(const ir::Shape& shape, std::int64_t dimension) {
  if (dimension < 0 || dimension >= shape.rank()) return 1;
  return static_cast<double>(std::max<std::int64_t>(shape.dims[dimension], 0));
}

double minor_size(const ir::Shape& shape) {
  return dimension_size(shape, minor_dimension(shape));
}

bool contains(const ir::Dims& dimensions, std::int64_t dimension) {
  return std::ranges::find(dimensions, dimension) != dimensions.end();
}

void KernelScan::of(const ir::Kernel& scanned) {
  const std::span<const Op> ops = scanned.ops();
  kernel = &scanned;
  elements.resize(ops.size());
  depth.resize(ops.size());
  uses.assign(ops.size(), 0);
  multiply_adds = 0;
  sizes = {};
  Largest product, reduced;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    elements[i] = elements_of(op.shape);
    depth[i] = 0;
    for (const ir::OpId id : op.operands) {
      depth[i] = std::max(depth[i], depth[id.index()] + 1);
      ++uses[id.index()];
    }
    if (const auto found = matrix_sizes(scanned, op)) {
      multiply_adds += found->multiply_adds();
      product.offer(op, found->multiply_adds());
      if (product.op == &op) sizes = *found;
    }
    if (ir::has(op.opcode, ir::Trait::kFolds)) {
      reduced.offer(op, elements_of(first_operand(scanned, op)));
    }
  }
  matrix = product.op;
  reduction = reduced.op;

  Largest parameter, output;
  parameter_bytes = output_bytes = 0;
  for (const ir::OpId id : scanned.parameters()) {
    parameter.offer(scanned.op(id), array_bytes(scanned.op(id).shape));
    parameter_bytes += array_bytes(scanned.op(id).shape);
  }
  for (const ir::OpId id : scanned.outputs()) {
    output.offer(scanned.op(id), array_bytes(scanned.op(id).shape));
    output_bytes += array_bytes(scanned.op(id).shape);
  }
  largest_parameter = parameter.op;
  largest_output = output.op;
  const Op* typed = output.size >= parameter.size ? output.op : parameter.op;
  main_dtype = matrix != nullptr  ? first_operand(scanned, *matrix).dtype
               : typed != nullptr ? typed->shape.dtype
                                  : ir::DType::kF32;

  const ir::WorkCounts& work = scanned.work();
  flops = known(work.flops);
  transcendentals = known(work.transcendentals);
  bytes_read = operand_bytes_read(work);
  bytes_written = known(work.output_bytes);
}

}  // namespace tilecast::learned
