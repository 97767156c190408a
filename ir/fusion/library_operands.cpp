// Operands of products and convolutions as a GPU's libraries read them. Of products: batch
// dimensions first, then the rows' and the contracted dimensions, each together. Of convolutions:
// filters by output feature. XLA's DotDecomposer and layout assignment bring others into this order
// by a transposition, which is a kernel.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/fusion/fusion_rewriter.h"
#include "ir/fusion/fusion_rules.h"
#include "ir/schedule_order.h"

namespace tilecast::ir {
namespace {

struct OperandDims {
  Dims batch, contracting;
};

bool holds_dim(const Dims& dims, std::int64_t d) {
  return std::ranges::find(dims, d) != dims.end();
}

// The order in which a library reads the operand: [batch, free, contracting], or with the last two
// exchanged if the minor dimension is a free one. Inside a group dimensions keep their order.
Dims library_order(const Shape& shape, const OperandDims& side) {
  Dims order = side.batch;
  const auto add = [&](bool contracted) {
    for (std::int64_t d = 0; d < std::ssize(shape.dims); ++d) {
      if (!holds_dim(side.batch, d) && holds_dim(side.contracting, d) == contracted) {
        order.push_back(d);
      }
    }
  };
  std::int64_t minor = std::ssize(shape.dims) - 1;
  while (minor > 0 && shape.dims[static_cast<std::size_t>(minor)] == 1) --minor;
  const bool contracts_minor = holds_dim(side.contracting, minor) || holds_dim(side.batch, minor);
  add(!contracts_minor);
  add(contracts_minor);
  return order;
}

// Whether reading the dimensions in this order only passes over memory as it lies.
bool is_in_order(const Shape& shape, const Dims& order) {
  std::int64_t last = -1;
  for (const std::int64_t d : order) {
    if (shape.dims[static_cast<std::size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

class LibraryOperands {
 public:
  LibraryOperands(Computation computation, FreshNames& names)
      : computation_(std::move(computation)), names_(names) {}

  Computation run() {
    rebuild(computation_, [&](Instruction&& op) {
      if (op.opcode == Opcode::kDot) reorder(op);
      if (op.opcode == Opcode::kConvolution) reorder_filter(op);
      return append(std::move(op));
    });
    return std::move(computation_);
  }

 private:
  InstrId append(Instruction&& op) {
    computation_.instructions.push_back(std::move(op));
    return InstrId(computation_.instructions.size() - 1);
  }

  void reorder(Instruction& dot) {
    DotDims& dims = dot.attrs.edit<DotAttrs>().dims;
    const OperandDims lhs = reordered(dot, 0, {dims.lhs_batch, dims.lhs_contracting});
    const OperandDims rhs = reordered(dot, 1, {dims.rhs_batch, dims.rhs_contracting});
    dims.lhs_batch = lhs.batch;
    dims.lhs_contracting = lhs.contracting;
    dims.rhs_batch = rhs.batch;
    dims.rhs_contracting = rhs.contracting;
  }

  // Transposes the operand where a library could not read it; its dimensions as the product then
  // names them.
  OperandDims reordered(Instruction& dot, std::size_t operand, OperandDims side) {
    const Instruction& read = computation_.at(dot.operands[operand]);
    const Dims order = library_order(read.shape, side);
    if (side.batch.empty() || is_in_order(read.shape, order)) return side;
    transpose(dot, operand, order);
    for (Dims* dims : {&side.batch, &side.contracting}) {
      for (std::int64_t& d : *dims) d = std::ranges::find(order, d) - order.begin();
    }
    return side;
  }

  // [output feature, spatial dimensions, input feature], where the file has the spatial ones first.
  void reorder_filter(Instruction& convolution) {
    auto& attrs = convolution.attrs.edit<ConvAttrs>();
    ConvDims& dims = attrs.dims;
    if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) return;
    if (!holds_dim(dims.kernel_spatial, 0)) return;
    Dims order = {dims.kernel_output_feature};
    order.insert(order.end(), dims.kernel_spatial.begin(), dims.kernel_spatial.end());
    order.push_back(dims.kernel_input_feature);
    if (is_in_order(computation_.at(convolution.operands[1]).shape, order)) return;
    transpose(convolution, 1, order);
    dims.kernel_output_feature = 0;
    dims.kernel_input_feature = static_cast<int>(order.size()) - 1;
    std::string label = "o";
    for (std::size_t i = 0; i < dims.kernel_spatial.size(); ++i) {
      dims.kernel_spatial[i] = static_cast<std::int64_t>(i) + 1;
      label += std::to_string(i);
    }
    const std::size_t from = dims.text.find('_') + 1;
    dims.text.replace(from, dims.text.find("->") - from, label + "i");
  }

  void transpose(Instruction& user, std::size_t operand, const Dims& order) {
    const Shape& read = computation_.at(user.operands[operand]).shape;
    Dims sizes;
    for (const std::int64_t d : order) sizes.push_back(read.dims[static_cast<std::size_t>(d)]);
    Instruction made;
    made.name = names_.next("transpose");
    made.opcode = Opcode::kTranspose;
    made.dimensions = order;
    made.operands = {user.operands[operand]};
    made.shape = Shape::array(read.dtype, std::move(sizes));
    made.metadata = user.metadata;
    made.offset = user.offset;
    user.operands[operand] = append(std::move(made));
  }

  Computation computation_;
  FreshNames& names_;
};

}  // namespace

Module with_library_operands(Module module) {
  FreshNames names(module);
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (!sequential[i]) continue;
    module.computations[i] = LibraryOperands(std::move(module.computations[i]), names).run();
  }
  return module;
}

bool needs_transposition(const Computation& computation, const Instruction& dot,
                         std::size_t operand) {
  const Instruction& transpose = computation.at(dot.operands[operand]);
  if (dot.opcode == Opcode::kConvolution) return transpose.opcode == Opcode::kTranspose;
  if (dot.opcode != Opcode::kDot || transpose.opcode != Opcode::kTranspose) return false;
  const DotDims& dims = dot.as<DotAttrs>().dims;
  return std::ranges::any_of(operand == 0 ? dims.lhs_batch : dims.rhs_batch, [&](std::int64_t d) {
    return transpose.shape.dims[static_cast<std::size_t>(d)] != 1 &&
           transpose.dimensions[static_cast<std::size_t>(d)] != d;
  });
}

}  // namespace tilecast::ir
