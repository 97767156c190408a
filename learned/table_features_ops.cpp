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
  switch (op.opcode) {
    case Opcode::kTranspose:
    case Opcode::kCopy:
      return add_transpose(scan, op, elements, facts);
    case Opcode::kBroadcast:
      return add_broadcast(scan, op, elements, facts);
    case Opcode::kSlice:
      return add_slice(op, elements, facts);
    case Opcode::kConcatenate:
      facts.concatenate_operands += static_cast<double>(op.operands.size());
      return;
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
      facts.dynamic_slices += 1;
      return;
    default:
      return;
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
    const bool scatters = op.opcode == Opcode::kScatter && op.operands.size() > 2;
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

}  // namespace tilecast::learned
