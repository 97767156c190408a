// Operands of products as a GPU's libraries read them: batch dimensions first, then the rows' and
// the contracted dimensions, each together. XLA's DotDecomposer and layout assignment bring others
// into this order by a transposition, which is a kernel.
#include <algorithm>
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

class GemmOperands {
 public:
  GemmOperands(Computation computation, FreshNames& names)
      : computation_(std::move(computation)), names_(names) {}

  Computation run() {
    const std::vector<InstrId> order = schedule_order(computation_);
    std::vector<Instruction> old = std::exchange(computation_.instructions, {});
    std::vector<InstrId> moved(old.size());
    for (const InstrId id : order) {
      Instruction& op = old[id.index()];
      for (InstrId& operand : op.operands) operand = moved[operand.index()];
      if (!op.control_predecessors->empty()) {
        for (InstrId& before : op.control_predecessors.edit()) before = moved[before.index()];
      }
      if (op.opcode == Opcode::kDot) reorder(op);
      moved[id.index()] = append(std::move(op));
    }
    for (InstrId& parameter : computation_.parameters) parameter = moved[parameter.index()];
    computation_.root = moved[computation_.root.index()];
    return std::move(computation_);
  }

 private:
  InstrId append(Instruction op) {
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
    Instruction transpose;
    transpose.name = names_.next("transpose");
    transpose.opcode = Opcode::kTranspose;
    transpose.dimensions = order;
    transpose.operands = {dot.operands[operand]};
    transpose.metadata = dot.metadata;
    transpose.offset = dot.offset;
    Dims sizes;
    for (const std::int64_t d : order)
      sizes.push_back(read.shape.dims[static_cast<std::size_t>(d)]);
    transpose.shape = Shape::array(read.shape.dtype, sizes);
    dot.operands[operand] = append(std::move(transpose));
    for (Dims* dims : {&side.batch, &side.contracting}) {
      for (std::int64_t& d : *dims) d = std::ranges::find(order, d) - order.begin();
    }
    return side;
  }

  Computation computation_;
  FreshNames& names_;
};

}  // namespace

Module with_gemm_operands(Module module) {
  FreshNames names(module);
  const std::vector<bool> sequential = sequential_computations(module);
  for (std::size_t i = 0; i < sequential.size(); ++i) {
    if (!sequential[i]) continue;
    module.computations[i] = GemmOperands(std::move(module.computations[i]), names).run();
  }
  return module;
}

bool moves_batch(const Computation& computation, const Instruction& dot, std::size_t operand) {
  const Instruction& transpose = computation.at(dot.operands[operand]);
  if (dot.opcode != Opcode::kDot || transpose.opcode != Opcode::kTranspose) return false;
  const DotDims& dims = dot.as<DotAttrs>().dims;
  return std::ranges::any_of(operand == 0 ? dims.lhs_batch : dims.rhs_batch, [&](std::int64_t d) {
    return transpose.shape.dims[static_cast<std::size_t>(d)] != 1 &&
           transpose.dimensions[static_cast<std::size_t>(d)] != d;
  });
}

}  // namespace tilecast::ir
