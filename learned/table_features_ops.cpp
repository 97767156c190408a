#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Op;
using ir::OpClass;
using ir::Opcode;

// Classes that stand inside kernels; fusions are inlined, control flow is flattened.
constexpr auto kClasses = std::to_array<OpClass>(
    {OpClass::kFree, OpClass::kElementwise, OpClass::kTranscendental, OpClass::kMatrix,
     OpClass::kReduction, OpClass::kDataMovement, OpClass::kIndexed, OpClass::kSort,
     OpClass::kRandom, OpClass::kNormalization, OpClass::kLinearAlgebra, OpClass::kCollective,
     OpClass::kCustomCall});
constexpr std::size_t kOther = kClasses.size();
using ClassValues = std::array<double, kClasses.size() + 1>;

PartName class_part(std::size_t part) {
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

using Rows = std::span<const ColumnRow<OpsFacts>>;

constexpr auto kSizeRows = std::to_array<ColumnRow<OpsFacts>>({
    column<&OpsFacts::ops>("ops.total", "1", "Ops of the kernel, parameters and constants too."),
    column<&OpsFacts::edges>("ops.edges", "1", "Operands of all ops together."),
    column<&OpsFacts::depth>("ops.depth", "1", "Ops on the longest way from inputs to outputs."),
    column<&OpsFacts::shared>("ops.shared", "1",
                              "Ops but parameters and constants that more than one op uses."),
    column<&OpsFacts::parameters>("ops.parameters", "1", "Arrays the kernel gets."),
    column<&OpsFacts::outputs>("ops.outputs", "1", "Arrays the kernel gives."),
    column<&OpsFacts::counts>("ops.count", "1", "Ops by kind of work", class_part),
    column<&OpsFacts::elements>("ops.elements", "1",
                                "Elements of the results, of reductions those of the input",
                                class_part),
    column<&OpsFacts::largest>("ops.largest", "1", "Elements of the largest value."),
    column<&OpsFacts::total_elements>("ops.total_elements", "1",
                                      "Elements of all ops that do work, together."),
    column<&OpsFacts::work_per_output>("ops.work_per_output", "1",
                                       "ops.total_elements over the elements of the outputs."),
    column<&OpsFacts::multiply_adds>("ops.multiply_adds", "1",
                                     "Multiply-adds of dots and convolutions, padding counted."),
    column<&OpsFacts::dtype_bytes_min>("ops.dtype_bytes_min", "B",
                                       "Size of the narrowest element type of an array."),
    column<&OpsFacts::dtype_bytes_max>("ops.dtype_bytes_max", "B",
                                       "Size of the widest element type of an array."),
    column<&OpsFacts::parameter_bytes>("ops.parameter_bytes", "B",
                                       "Bytes of all parameters, used or not, without padding."),
    column<&OpsFacts::output_bytes>("ops.output_bytes", "B",
                                    "Bytes of all outputs, without padding."),
    column<&OpsFacts::footprint>("ops.footprint", "B", "Bytes of parameters and outputs."),
    column<&OpsFacts::intensity>("ops.intensity", "1/B",
                                 "static.flops over the bytes read and written."),
    column<&OpsFacts::operations_per_byte>("ops.operations_per_byte", "1/B",
                                           "ops.total_elements over the bytes read and written."),
});

constexpr auto kPatternRows = std::to_array<ColumnRow<OpsFacts>>({
    column<&OpsFacts::transposes>("ops.transposes", "1", "Transpositions that move data."),
    column<&OpsFacts::minor_moved>(
        "ops.minor_moved", "1",
        "Elements that transpositions and copies read with a stride in the minor-most dimension."),
    column<&OpsFacts::reversed>("ops.reversed", "1", "Elements reversed."),
    column<&OpsFacts::padded>("ops.padded", "1", "Elements of padded results."),
    column<&OpsFacts::concatenated>("ops.concatenated", "1", "Elements of concatenated results."),
    column<&OpsFacts::concatenate_operands>("ops.concatenate_operands", "1",
                                            "Operands of all concatenations."),
    column<&OpsFacts::sliced>("ops.sliced", "1", "Elements cut out by slices."),
    column<&OpsFacts::slice_stride>("ops.slice_stride", "1",
                                    "Largest stride of a slice in the minor-most dimension."),
    column<&OpsFacts::dynamic_slices>(
        "ops.dynamic_slices", "1",
        "Dynamic slices and updates: their places are known at run time."),
    column<&OpsFacts::gathered>("ops.gathered", "1",
                                "Elements of gathered results and of scattered updates."),
    column<&OpsFacts::broadcast>("ops.broadcast", "1",
                                 "Elements of broadcast results, scalars spread not counted."),
    column<&OpsFacts::broadcast_factor>("ops.broadcast_factor", "1",
                                        "Largest ratio of result to operand, scalars not counted."),
    column<&OpsFacts::minor_broadcast>(
        "ops.minor_broadcast", "1",
        "Elements of broadcasts that repeat one value along the minor-most dimension."),
    column<&OpsFacts::minor_reduced>("ops.minor_reduced", "1",
                                     "Input elements of reductions over the minor-most dimension."),
    column<&OpsFacts::major_reduced>(
        "ops.major_reduced", "1",
        "Input elements of reductions that keep the minor-most dimension."),
    column<&OpsFacts::compared>("ops.compared", "1",
                                "Input elements of reductions by maximum or minimum, which many "
                                "vector units cannot reorder."),
    column<&OpsFacts::reduced_row>(
        "ops.reduced_row", "1",
        "Shortest run of elements along the minor-most dimension that a reduction sums up."),
    column<&OpsFacts::run>("ops.run", "1",
                           "Length of the minor-most dimension of the ops that do work: harmonic "
                           "mean, by elements."),
    column<&OpsFacts::window_applications>(
        "ops.window_applications", "1",
        "Results of window reductions and scans, times the size of the window."),
    column<&OpsFacts::reduce_flops>(
        "ops.reduce_flops", "1", "Most operations in one application of a reduction's function."),
    column<&OpsFacts::divided>("ops.divided", "1", "Elements of divisions and remainders."),
    column<&OpsFacts::roots>("ops.roots", "1", "Elements of square and cube roots."),
    column<&OpsFacts::exponentials>("ops.exponentials", "1",
                                    "Elements of exp, expm1, tanh, logistic and erf."),
    column<&OpsFacts::logarithms>("ops.logarithms", "1", "Elements of log and log1p."),
    column<&OpsFacts::slow_functions>("ops.slow_functions", "1",
                                      "Elements of power, trigonometric and hyperbolic functions."),
    column<&OpsFacts::converted>("ops.converted", "1", "Elements of type conversions."),
    column<&OpsFacts::selected>("ops.selected", "1", "Elements of select, compare and clamp."),
    column<&OpsFacts::integer>("ops.integer", "1", "Elements of arithmetic that is not floating."),
    column<&OpsFacts::narrow>("ops.narrow", "1", "Elements of arithmetic in 16 bits or fewer."),
    column<&OpsFacts::wide>("ops.wide", "1", "Elements of arithmetic in 64 bits."),
});

double operand_elements(const KernelScan& scan, const Op& op) {
  return op.operands.empty() ? 0 : scan.elements[op.operands[0].index()];
}

const ir::Shape* operand_shape(const KernelScan& scan, const Op& op) {
  return op.operands.empty() ? nullptr : &scan.kernel->op(op.operands[0]).shape;
}

bool contains(const ir::Dims& dimensions, std::int64_t dimension) {
  return std::ranges::find(dimensions, dimension) != dimensions.end();
}

// Elements of the fastest varying dimension; 1 of scalars and tuples.
double minor_extent(const ir::Shape& shape) {
  const int minor = shape.is_array() ? minor_dimension(shape) : -1;
  return minor < 0 ? 1 : static_cast<double>(shape.dims[static_cast<std::size_t>(minor)]);
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

void add_movement(const KernelScan& scan, const Op& op, double elements, OpsFacts& facts) {
  switch (op.opcode) {
    case Opcode::kTranspose:
    case Opcode::kCopy:
      return add_transpose(scan, op, elements, facts);
    case Opcode::kBroadcast:
      return add_broadcast(scan, op, elements, facts);
    case Opcode::kSlice:
      return add_slice(op, elements, facts);
    case Opcode::kReverse:
      facts.reversed += elements;
      return;
    case Opcode::kPad:
      facts.padded += elements;
      return;
    case Opcode::kConcatenate:
      facts.concatenated += elements;
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
  if (minor) facts.reduced_row = std::fmin(facts.reduced_row, minor_extent(*from));
  if (op.applied == Opcode::kMaximum || op.applied == Opcode::kMinimum) {
    facts.compared += operand_elements(scan, op);
  }
}

void add_arithmetic(const Op& op, double elements, OpsFacts& facts) {
  if (!ir::is_floating(op.shape.dtype)) facts.integer += elements;
  if (ir::bits(op.shape.dtype) <= 16) facts.narrow += elements;
  if (ir::bits(op.shape.dtype) >= 64) facts.wide += elements;
  switch (op.opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
      facts.divided += elements;
      return;
    case Opcode::kConvert:
      facts.converted += elements;
      return;
    case Opcode::kSelect:
    case Opcode::kCompare:
    case Opcode::kClamp:
      facts.selected += elements;
      return;
    default:
      return;
  }
}

void add_function(const Op& op, double elements, OpsFacts& facts) {
  switch (op.opcode) {
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kCbrt:
      facts.roots += elements;
      return;
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kTanh:
    case Opcode::kLogistic:
    case Opcode::kErf:
      facts.exponentials += elements;
      return;
    case Opcode::kLog:
    case Opcode::kLog1p:
      facts.logarithms += elements;
      return;
    default:
      facts.slow_functions += elements;
      return;
  }
}

// Reductions work on their input, everything else on its result.
double worked_elements(const KernelScan& scan, const Op& op, double elements) {
  const bool reduces = ir::op_class(op.opcode) == OpClass::kReduction;
  return reduces ? operand_elements(scan, op) : elements;
}

double run_of(const KernelScan& scan, const Op& op) {
  const ir::Shape* from = operand_shape(scan, op);
  const bool reduces = ir::op_class(op.opcode) == OpClass::kReduction && from != nullptr;
  return std::max(minor_extent(reduces ? *from : op.shape), 1.0);
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
  if (work == OpClass::kTranscendental) add_function(op, elements, facts);
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

void ops_columns(std::vector<FeatureColumn>& columns) {
  append_columns(Rows(kSizeRows), FeatureGroup::kOps, columns);
  append_columns(Rows(kPatternRows), FeatureGroup::kOps, columns);
}

std::size_t write_ops(const KernelScan& scan, std::span<float> out) {
  const OpsFacts facts = facts_of_ops(scan);
  const std::size_t sizes = write_columns(Rows(kSizeRows), facts, out);
  return sizes + write_columns(Rows(kPatternRows), facts, out.subspan(sizes));
}

}  // namespace tilecast::learned
