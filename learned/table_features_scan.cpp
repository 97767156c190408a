#include <algorithm>

#include "learned/table_features_groups.h"

namespace tilecast::learned {
namespace {

using ir::Op;
using ir::OpClass;
using ir::Opcode;

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
    if (op.opcode == Opcode::kReduce || op.opcode == Opcode::kReduceWindow) {
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
