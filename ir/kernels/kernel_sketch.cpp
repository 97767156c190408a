#include "ir/kernels/kernel_sketch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace tilecast::ir {
namespace {

void check_size(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape.dims) elements *= static_cast<double>(size);
  if (elements > static_cast<double>(KernelSketch::kMaxElements)) {
    throw Error(fmt::format("array {} is too large; got {:.3g} elements, expected at most {:.3g}",
                            to_string(shape, /*with_layout=*/false), elements,
                            static_cast<double>(KernelSketch::kMaxElements)));
  }
}

Layout row_major(Layout layout, int rank) {
  layout.minor_to_major = default_layout(rank).minor_to_major;
  return layout;
}

double elements_of(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

// Number of (kernel, output) position pairs on real input, as a product over spatial dimensions.
double window_positions(const Shape& input, const Shape& output, const ConvAttrs& attrs) {
  double positions = 1;
  for (std::size_t i = 0; i < attrs.window.size(); ++i) {
    const std::int64_t in = input.dims[static_cast<std::size_t>(attrs.dims.input_spatial[i])];
    const std::int64_t out = output.dims[static_cast<std::size_t>(attrs.dims.output_spatial[i])];
    positions *= static_cast<double>(valid_positions(in, out, attrs.window[i]));
  }
  return positions;
}

}  // namespace

KernelSketch::KernelSketch(std::string name, const LayoutRules& rules)
    : KernelSketch(std::move(name), Opcode::kFusion, rules) {}

KernelSketch::KernelSketch(std::string name, Opcode opcode, const LayoutRules& rules)
    : builder_(std::move(name), opcode), rules_(rules) {}

Shape KernelSketch::array(DType dtype, Dims dims) const {
  Shape shape = Shape::array(dtype, std::move(dims));
  check_size(shape);
  shape.layout = device_layout(shape, rules_);
  return shape;
}

OpId KernelSketch::add(Op op) {
  std::string made = fmt::format("{}.{}", name(op.opcode), shapes_.size());
  shapes_.push_back(op.shape);
  return builder_.add(std::move(op), std::move(made));
}

OpId KernelSketch::parameter(DType dtype, Dims dims) {
  return parameter(array(dtype, std::move(dims)));
}

OpId KernelSketch::parameter(Shape shape) {
  const std::size_t number = work_.operand_bytes.size();
  work_.operand_bytes.push_back(static_cast<float>(unpadded_bytes(shape)));
  shapes_.push_back(shape);
  return builder_.parameter(std::move(shape), fmt::format("parameter.{}", number));
}

OpId KernelSketch::row_major_parameter(DType dtype, Dims dims) {
  Shape shape = array(dtype, std::move(dims));
  shape.layout = row_major(*shape.layout, shape.rank());
  return parameter(std::move(shape));
}

OpId KernelSketch::elementwise(Opcode opcode, std::vector<OpId> operands,
                               std::optional<DType> result) {
  const Shape& first = shape(operands.front());
  Op op{.opcode = opcode,
        .shape = array(result.value_or(first.dtype), first.dims),
        .operands = std::move(operands)};
  if (opcode == Opcode::kCompare) op.attrs = CompareAttrs{.direction = "GT"};
  const auto count = static_cast<float>(elements_of(op.shape));
  const bool transcendental = op_class(opcode) == OpClass::kTranscendental;
  (transcendental ? work_.transcendentals : work_.flops) += count;
  return add(std::move(op));
}

OpId KernelSketch::copy(OpId operand) {
  return add({.opcode = Opcode::kCopy, .shape = shape(operand), .operands = {operand}});
}

OpId KernelSketch::constant_like(OpId like, std::string value) {
  const Literal literal{.text = std::move(value)};
  const OpId scalar = add({.opcode = Opcode::kConstant,
                           .shape = array(shape(like).dtype, {}),
                           .attrs = ConstantAttrs{literal}});
  return broadcast_like(scalar, like, {});
}

OpId KernelSketch::broadcast_like(OpId operand, OpId like, Dims dimensions) {
  return add({.opcode = Opcode::kBroadcast,
              .shape = array(shape(operand).dtype, shape(like).dims),
              .operands = {operand},
              .dimensions = std::move(dimensions)});
}

OpId KernelSketch::reduce(OpId operand, Opcode combiner, std::int64_t dimension) {
  const Shape input = shape(operand);
  Dims kept;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != dimension) kept.push_back(input.dims[static_cast<std::size_t>(i)]);
  }
  const bool sum = combiner == Opcode::kAdd;
  const OpId initial = add({.opcode = Opcode::kConstant,
                            .shape = array(input.dtype, {}),
                            .attrs = ConstantAttrs{{.text = sum ? "0" : "-inf"}}});
  Op op{.opcode = Opcode::kReduce,
        .shape = array(input.dtype, std::move(kept)),
        .operands = {operand, initial},
        .dimensions = {dimension},
        .applied_flops = 1,
        .applied = combiner};
  work_.flops += static_cast<float>(elements_of(input) - elements_of(op.shape));
  return add(std::move(op));
}

OpId KernelSketch::transpose(OpId operand) {
  const Shape input = shape(operand);
  const auto rank = static_cast<std::size_t>(input.rank());
  Dims result = input.dims, order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(result[rank - 1], result[rank - 2]);
  std::swap(order[rank - 1], order[rank - 2]);
  Shape shape = array(input.dtype, std::move(result));
  shape.layout = row_major(*shape.layout, shape.rank());
  return add({.opcode = Opcode::kTranspose,
              .shape = std::move(shape),
              .operands = {operand},
              .dimensions = std::move(order)});
}

OpId KernelSketch::dot(OpId lhs, OpId rhs, DotDims dims, Dims result, DType dtype,
                       const std::string& precision) {
  double reduced = 1;
  for (const std::int64_t d : dims.lhs_contracting) {
    reduced *= static_cast<double>(shape(lhs).dims[static_cast<std::size_t>(d)]);
  }
  Op op{.opcode = Opcode::kDot,
        .shape = array(dtype, std::move(result)),
        .operands = {lhs, rhs},
        .attrs = DotAttrs{.dims = std::move(dims)}};
  if (!precision.empty()) op.attrs.edit<DotAttrs>().precision = {precision, precision};
  work_.flops += static_cast<float>(2 * reduced * elements_of(op.shape));
  return add(std::move(op));
}

OpId KernelSketch::ragged_dot(OpId lhs, OpId rhs, std::vector<std::int64_t> group_rows,
                              DType dtype) {
  const Dims &left = shape(lhs).dims, &right = shape(rhs).dims;
  Shape result = array(dtype, {left[0], right[2]});
  work_.flops += static_cast<float>(2 * elements_of(result) * static_cast<double>(right[1]));
  const auto groups = static_cast<std::int64_t>(group_rows.size());
  Literal sizes{.is_integer = true, .integers = std::move(group_rows), .text = {}};
  sizes.text = fmt::format("{{{}}}", fmt::join(sizes.integers, ", "));
  const OpId of_groups = add({.opcode = Opcode::kConstant,
                              .shape = array(DType::kS32, {groups}),
                              .attrs = ConstantAttrs{std::move(sizes)}});
  return add({.opcode = Opcode::kRaggedDot,
              .shape = std::move(result),
              .operands = {lhs, rhs, of_groups},
              .attrs = DotAttrs{.dims = {.lhs_contracting = {1},
                                         .rhs_contracting = {1},
                                         .lhs_batch = {},
                                         .rhs_batch = {},
                                         .lhs_ragged = {0},
                                         .rhs_group = {0}}}});
}

OpId KernelSketch::filled(DType dtype, Dims dims) {
  const OpId number = add({.opcode = Opcode::kConstant,
                           .shape = array(dtype, {}),
                           .attrs = ConstantAttrs{{.text = "0"}}});
  return add(
      {.opcode = Opcode::kBroadcast, .shape = array(dtype, std::move(dims)), .operands = {number}});
}

void KernelSketch::set_layout(OpId id, Layout layout) {
  shapes_[id.index()].layout = builder_.op(id).shape.layout = std::move(layout);
}

OpId KernelSketch::convolution(OpId input, OpId kernel, ConvAttrs attrs, Dims result, DType dtype) {
  const Shape& in = shape(input);
  const ConvDims& labels = attrs.dims;
  const auto size = [](const Shape& of, int dim) {
    return static_cast<double>(of.dims[static_cast<std::size_t>(dim)]);
  };
  Shape out = array(dtype, std::move(result));
  auto [output, of_input, of_kernel] = convolution_layouts(labels, in, shape(kernel), out, rules_);
  out.layout = std::move(output);
  set_layout(input, std::move(of_input));
  set_layout(kernel, std::move(of_kernel));
  const double per_position = size(out, labels.output_batch) * size(out, labels.output_feature) *
                              size(in, labels.input_feature) /
                              static_cast<double>(attrs.feature_group_count);
  work_.flops += static_cast<float>(2 * per_position * window_positions(in, out, attrs));
  return add({.opcode = Opcode::kConvolution,
              .shape = std::move(out),
              .operands = {input, kernel},
              .attrs = std::move(attrs)});
}

void KernelSketch::set_block(const Dims& block) {
  builder_.set_gpu_code(GpuCode{.emitter = GpuCode::Emitter::kTriton, .tile = block});
}

OpId KernelSketch::collective(Opcode opcode, OpId operand, Dims result, std::int64_t devices) {
  builder_.set_group_size(devices);
  const bool sums = opcode == Opcode::kAllReduce || opcode == Opcode::kReduceScatter;
  Op op{.opcode = opcode,
        .shape = array(shape(operand).dtype, std::move(result)),
        .operands = {operand},
        .attrs = CollectiveAttrs{}};
  if (sums) {
    work_.flops += static_cast<float>(elements_of(op.shape));
    op.applied_flops = 1;
    op.applied = Opcode::kAdd;
  }
  return add(std::move(op));
}

Kernel KernelSketch::build(std::vector<OpId> outputs) {
  for (const float bytes : work_.operand_bytes) work_.bytes_accessed += bytes;
  for (const OpId id : outputs) {
    work_.output_bytes += static_cast<float>(unpadded_bytes(shape(id)));
  }
  work_.bytes_accessed += work_.output_bytes;
  builder_.set_work(work_);
  return builder_.build(std::move(outputs));
}

}  // namespace tilecast::ir
