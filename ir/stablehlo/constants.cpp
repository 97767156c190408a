// Constants, including numbers that expansions need.
#include <algorithm>

#include "ir/literal.h"
#include "ir/stablehlo/lowering.h"
#include "ir/stablehlo/shape_values.h"

namespace tilecast::ir::stablehlo {

namespace {

// Largest constant whose values are read. Longer ones are weights; their values do not affect
// estimates and would take as long to read as everything else.
constexpr std::size_t kMostOfConstant = std::size_t{1} << 16;  // elements

}  // namespace

InstrId Lowering::constant(const Operation& op, const Attribute& value, TypeId type) {
  const mlir::Type& written_type = tree_.at(type);
  Shape shape = shapes_[type.index()];
  if (!shape.is_array() || shape.is_unbounded()) fail(op, "its type has no fixed size");
  mlir::DenseValues values;
  if (value.kind == Attribute::Kind::kDense) {
    values = mlir::read_dense(value, written_type, text_, kMostOfConstant);
  } else if (value.kind == Attribute::Kind::kFloat) {
    values.numbers = {value.number};
    values.splat = true;
  } else if (value.kind == Attribute::Kind::kInteger || value.kind == Attribute::Kind::kBool) {
    values.integers = {value.integer};
    values.numbers = {static_cast<double>(value.integer)};
    values.splat = true;
  } else {
    values.elided = true;
  }
  Instruction made = instruction(op, Opcode::kConstant);
  if (element_count(shape) <= static_cast<std::int64_t>(kMostElements) || !values.splat ||
      values.elided) {
    made.attrs = ConstantAttrs{literal_of(shape, values)};
    made.shape = std::move(shape);
    return add(std::move(made));
  }
  // A splat; XLA turns it into a broadcast.
  Shape scalar = Shape::array(shape.dtype, {});
  scalar.layout = default_layout(0);
  Instruction number;
  number.opcode = Opcode::kConstant;
  number.attrs = ConstantAttrs{literal_of(scalar, values)};
  number.shape = std::move(scalar);
  number.offset = op.offset;
  made.opcode = Opcode::kBroadcast;
  made.attrs = OpAttrs();
  made.shape = std::move(shape);
  made.operands = {add(std::move(number))};
  return add(std::move(made));
}

InstrId Lowering::splat(const Operation& op, double value, const Shape& like) {
  Shape scalar = Shape::array(like.dtype, {});
  scalar.layout = default_layout(0);
  mlir::DenseValues values;
  values.numbers = {value, 0};
  values.integers = {static_cast<std::int64_t>(value)};
  values.splat = true;
  Instruction number;
  number.opcode = Opcode::kConstant;
  number.attrs = ConstantAttrs{literal_of(scalar, values)};
  number.shape = std::move(scalar);
  number.offset = op.offset;
  return broadcast_scalar(op, add(std::move(number)), like);
}

InstrId Lowering::broadcast_scalar(const Operation& op, InstrId id, const Shape& like) {
  const Shape& from = shape(id);
  if (!from.is_scalar() || like.dims.empty()) return id;
  Shape result = Shape::array(from.dtype, like.dims);
  result.layout = default_layout(result.rank());
  return emit(op, Opcode::kBroadcast, {id}, std::move(result));
}

}  // namespace tilecast::ir::stablehlo
