#include "sim/kernel_sketch.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/error.h"

namespace tilecast::sim {
namespace {

void check_size(const ir::Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape.dims) elements *= static_cast<double>(size);
  if (elements > static_cast<double>(KernelSketch::kMaxElements)) {
    throw Error(fmt::format("array {} is too large; got {:.3g} elements, expected at most {:.3g}",
                            ir::to_string(shape, /*with_layout=*/false), elements,
                            static_cast<double>(KernelSketch::kMaxElements)));
  }
}

ir::Layout row_major(ir::Layout layout, int rank) {
  layout.minor_to_major = ir::default_layout(rank).minor_to_major;
  return layout;
}

double elements_of(const ir::Shape& shape) {
  return static_cast<double>(ir::element_count(shape));
}

// Products of kernel and output positions that meet real input, over all spatial dimensions.
double window_positions(const ir::Shape& input, const ir::Shape& output,
                        const ir::ConvAttrs& attrs) {
  double positions = 1;
  for (std::size_t i = 0; i < attrs.window.size(); ++i) {
    const std::int64_t in = input.dims[static_cast<std::size_t>(attrs.dims.input_spatial[i])];
    const std::int64_t out = output.dims[static_cast<std::size_t>(attrs.dims.output_spatial[i])];
    positions *= static_cast<double>(ir::valid_positions(in, out, attrs.window[i]));
  }
  return positions;
}

}  // namespace

KernelSketch::KernelSketch(std::string name, ir::Opcode opcode, const ir::LayoutRules& rules)
    : builder_(std::move(name), opcode), rules_(rules) {}

ir::Shape KernelSketch::array(ir::DType dtype, ir::Dims dims) const {
  ir::Shape shape = ir::Shape::array(dtype, std::move(dims));
  check_size(shape);
  shape.layout = ir::device_layout(shape, rules_);
  return shape;
}

ir::OpId KernelSketch::add(ir::Op op) {
  op.name = fmt::format("{}.{}", ir::name(op.opcode), shapes_.size());
  shapes_.push_back(op.shape);
  return builder_.add(std::move(op));
}

ir::OpId KernelSketch::parameter(ir::DType dtype, ir::Dims dims) {
  return parameter(array(dtype, std::move(dims)));
}

ir::OpId KernelSketch::parameter(ir::Shape shape) {
  const std::size_t number = work_.operand_bytes.size();
  work_.operand_bytes.push_back(static_cast<float>(ir::unpadded_bytes(shape)));
  shapes_.push_back(shape);
  return builder_.parameter(std::move(shape), fmt::format("parameter.{}", number));
}

ir::OpId KernelSketch::row_major_parameter(ir::DType dtype, ir::Dims dims) {
  ir::Shape shape = array(dtype, std::move(dims));
  shape.layout = row_major(*shape.layout, shape.rank());
  return parameter(std::move(shape));
}

ir::OpId KernelSketch::elementwise(ir::Opcode opcode, std::vector<ir::OpId> operands,
                                   std::optional<ir::DType> result) {
  const ir::Shape& first = shape(operands.front());
  ir::Op op{.opcode = opcode,
            .shape = array(result.value_or(first.dtype), first.dims),
            .operands = std::move(operands)};
  if (opcode == ir::Opcode::kCompare) op.attrs = ir::CompareAttrs{.direction = "GT"};
  const auto count = static_cast<float>(elements_of(op.shape));
  const bool transcendental = ir::op_class(opcode) == ir::OpClass::kTranscendental;
  (transcendental ? work_.transcendentals : work_.flops) += count;
  return add(std::move(op));
}

ir::OpId KernelSketch::copy(ir::OpId operand) {
  return add({.opcode = ir::Opcode::kCopy, .shape = shape(operand), .operands = {operand}});
}

ir::OpId KernelSketch::constant_like(ir::OpId like, std::string value) {
  const ir::Literal literal{.text = std::move(value)};
  const ir::OpId scalar = add({.opcode = ir::Opcode::kConstant,
                               .shape = array(shape(like).dtype, {}),
                               .attrs = ir::ConstantAttrs{literal}});
  return broadcast_like(scalar, like, {});
}

ir::OpId KernelSketch::broadcast_like(ir::OpId operand, ir::OpId like, ir::Dims dimensions) {
  return add({.opcode = ir::Opcode::kBroadcast,
              .shape = array(shape(operand).dtype, shape(like).dims),
              .operands = {operand},
              .dimensions = std::move(dimensions)});
}

ir::OpId KernelSketch::reduce(ir::OpId operand, ir::Opcode combiner, std::int64_t dimension) {
  const ir::Shape input = shape(operand);
  ir::Dims kept;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != dimension) kept.push_back(input.dims[static_cast<std::size_t>(i)]);
  }
  const bool sum = combiner == ir::Opcode::kAdd;
  const ir::OpId initial = add({.opcode = ir::Opcode::kConstant,
                                .shape = array(input.dtype, {}),
                                .attrs = ir::ConstantAttrs{{.text = sum ? "0" : "-inf"}}});
  ir::Op op{.opcode = ir::Opcode::kReduce,
            .shape = array(input.dtype, std::move(kept)),
            .operands = {operand, initial},
            .dimensions = {dimension},
            .applied_flops = 1};
  work_.flops += static_cast<float>(elements_of(input) - elements_of(op.shape));
  return add(std::move(op));
}

ir::OpId KernelSketch::transpose(ir::OpId operand) {
  const ir::Shape input = shape(operand);
  const auto rank = static_cast<std::size_t>(input.rank());
  ir::Dims result = input.dims, order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(result[rank - 1], result[rank - 2]);
  std::swap(order[rank - 1], order[rank - 2]);
  ir::Shape shape = array(input.dtype, std::move(result));
  shape.layout = row_major(*shape.layout, shape.rank());
  return add({.opcode = ir::Opcode::kTranspose,
              .shape = std::move(shape),
              .operands = {operand},
              .dimensions = std::move(order)});
}

ir::OpId KernelSketch::dot(ir::OpId lhs, ir::OpId rhs, ir::DotDims dims, ir::Dims result,
                           ir::DType dtype) {
  double reduced = 1;
  for (const std::int64_t d : dims.lhs_contracting) {
    reduced *= static_cast<double>(shape(lhs).dims[static_cast<std::size_t>(d)]);
  }
  ir::Op op{.opcode = ir::Opcode::kDot,
            .shape = array(dtype, std::move(result)),
            .operands = {lhs, rhs},
            .attrs = ir::DotAttrs{.dims = std::move(dims)}};
  work_.flops += static_cast<float>(2 * reduced * elements_of(op.shape));
  return add(std::move(op));
}

ir::OpId KernelSketch::convolution(ir::OpId input, ir::OpId kernel, ir::ConvAttrs attrs,
                                   ir::Dims result, ir::DType dtype) {
  const ir::Shape& in = shape(input);
  const ir::ConvDims& labels = attrs.dims;
  const auto size = [](const ir::Shape& of, int dim) {
    return static_cast<double>(of.dims[static_cast<std::size_t>(dim)]);
  };
  ir::Shape out = array(dtype, std::move(result));
  const double per_position = size(out, labels.output_batch) * size(out, labels.output_feature) *
                              size(in, labels.input_feature);
  work_.flops += static_cast<float>(2 * per_position * window_positions(in, out, attrs));
  return add({.opcode = ir::Opcode::kConvolution,
              .shape = std::move(out),
              .operands = {input, kernel},
              .attrs = std::move(attrs)});
}

ir::OpId KernelSketch::all_reduce(ir::OpId operand, std::int64_t devices) {
  builder_.set_group_size(devices);
  work_.flops += static_cast<float>(elements_of(shape(operand)));
  return add({.opcode = ir::Opcode::kAllReduce,
              .shape = shape(operand),
              .operands = {operand},
              .attrs = ir::CollectiveAttrs{},
              .applied_flops = 1});
}

ir::Kernel KernelSketch::build(std::vector<ir::OpId> outputs) {
  for (const float bytes : work_.operand_bytes) work_.bytes_accessed += bytes;
  for (const ir::OpId id : outputs) {
    work_.output_bytes += static_cast<float>(ir::unpadded_bytes(shape(id)));
  }
  work_.bytes_accessed += work_.output_bytes;
  builder_.set_work(work_);
  return builder_.build(std::move(outputs));
}

}  // namespace tilecast::sim
