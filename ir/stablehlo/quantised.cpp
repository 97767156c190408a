// Quantised types: `!quant.uniform<i8<-127:127>:f32:1, {0.1:3, 0.2}>`. The stored values are
// integers; real = (stored - zero point) * scale.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/stablehlo/rules.h"
#include "ir/stablehlo/shape_values.h"

namespace tilecast::ir::stablehlo {
namespace {

struct Quantisation {
  DType expressed = DType::kF32;
  std::int64_t axis = -1;  // axis of per-axis scales
  std::vector<double> scales;
  std::vector<double> zero_points;
  double least = 0, most = 0;  // range of stored values
};

double number_at(std::string_view text) {
  double value = 0;
  while (!text.empty() && (text.front() == ' ' || text.front() == '{')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void read_range(const Shape& storage, std::string_view range, Quantisation& result) {
  const int width = bits(storage.dtype);
  const bool is_signed = is_signed_integer(storage.dtype);
  result.least = is_signed ? -std::ldexp(1, width - 1) : 0;
  result.most = std::ldexp(1, is_signed ? width - 1 : width) - 1;
  const std::size_t colon = range.find(':');
  if (colon == std::string_view::npos) return;
  result.least = number_at(range);
  result.most = number_at(range.substr(colon + 1));
}

Quantisation read_quantisation(const Lowering& lowering, const Operation& op,
                               const mlir::Type& type) {
  std::string_view text = type.quantised;
  const std::size_t open = text.find('<');
  const std::size_t close = text.rfind('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open) {
    lowering.fail(op, "has a quantised type of an unknown form");
  }
  text = text.substr(open + 1, close - open - 1);
  Quantisation result;
  std::string_view range;
  const std::size_t range_open = text.find('<');
  std::size_t at = text.find(':');
  if (range_open < at) {
    const std::size_t range_close = text.find('>', range_open);
    if (range_close == std::string_view::npos) lowering.fail(op, "has an open range of storage");
    range = text.substr(range_open + 1, range_close - range_open - 1);
    at = text.find(':', range_close);
  }
  const std::size_t comma = text.find(',');
  if (at == std::string_view::npos || comma == std::string_view::npos || comma < at) {
    lowering.fail(op, "has a quantised type without scale");
  }
  read_range(type.shape, range, result);
  std::string_view expressed = text.substr(at + 1, comma - at - 1);
  if (const std::size_t colon = expressed.find(':'); colon != std::string_view::npos) {
    result.axis = static_cast<std::int64_t>(number_at(expressed.substr(colon + 1)));
    expressed = expressed.substr(0, colon);
  }
  result.expressed = parse_dtype(expressed).value_or(DType::kF32);
  std::string_view rest = text.substr(comma + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, end);
    const std::size_t colon = item.find(':');
    result.scales.push_back(number_at(item));
    result.zero_points.push_back(
        colon == std::string_view::npos ? 0 : number_at(item.substr(colon + 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

// One number for all elements, or one for each index along the axis.
InstrId numbers(Lowering& lowering, const Operation& op, const std::vector<double>& values,
                std::int64_t axis, const Shape& like) {
  if (values.size() == 1 || axis < 0 || axis >= like.rank()) {
    return lowering.splat(op, values.empty() ? 1 : values.front(), like);
  }
  mlir::DenseValues dense;
  dense.numbers = values;
  const Shape list = row_major(like.dtype, {static_cast<std::int64_t>(values.size())});
  return broadcast_in_dim(lowering, op, lowering.constant(op, list, dense), {axis}, like);
}

// `value` with the zero points added or subtracted, if there are any.
InstrId shifted(Lowering& lowering, const Operation& op, Opcode opcode, InstrId value,
                const Quantisation& how, const Shape& like) {
  const auto is_set = [](double zero_point) { return zero_point != 0; };
  if (!std::ranges::any_of(how.zero_points, is_set)) return value;
  return lowering.emit(op, opcode, {value, numbers(lowering, op, how.zero_points, how.axis, like)});
}

Shape retyped(Shape shape, DType dtype) {
  shape.dtype = dtype;
  return shape;
}

InstrId dequantised(Lowering& lowering, const Operation& op, InstrId stored,
                    const mlir::Type& type) {
  const Quantisation how = read_quantisation(lowering, op, type);
  const Shape like = retyped(lowering.shape(stored), how.expressed);
  const InstrId value = shifted(lowering, op, Opcode::kSubtract,
                                lowering.emit(op, Opcode::kConvert, {stored}, like), how, like);
  return lowering.emit(op, Opcode::kMultiply,
                       {value, numbers(lowering, op, how.scales, how.axis, like)});
}

InstrId quantised(Lowering& lowering, const Operation& op, InstrId value, const mlir::Type& type) {
  const Quantisation how = read_quantisation(lowering, op, type);
  const Shape like = lowering.shape(value);
  const InstrId scaled = lowering.emit(op, Opcode::kDivide,
                                       {value, numbers(lowering, op, how.scales, how.axis, like)});
  const InstrId rounded = lowering.emit(op, Opcode::kRoundNearestEven,
                                        {shifted(lowering, op, Opcode::kAdd, scaled, how, like)});
  const InstrId clamped = lowering.emit(
      op, Opcode::kClamp,
      {lowering.splat(op, how.least, like), rounded, lowering.splat(op, how.most, like)});
  return lowering.emit(op, Opcode::kConvert, {clamped}, retyped(like, type.shape.dtype));
}

}  // namespace

bool lower_quantised(Lowering& lowering, const Operation& op) {
  const mlir::Tree& tree = lowering.tree();
  const auto is_quantised = [&](ValueId value) { return !tree.type_of(value).quantised.empty(); };
  const bool takes = std::any_of(op.operands.begin(), op.operands.end(), is_quantised);
  const bool gives = op.result_count == 1 && is_quantised(op.first_result);
  if (!takes && !gives) return false;
  const auto real = [&](std::size_t i) {
    const InstrId id = lowering.operand(op, i);
    const mlir::Type& type = tree.type_of(op.operands[i]);
    return type.quantised.empty() ? id : dequantised(lowering, op, id, type);
  };
  const auto finish = [&](InstrId id) {
    lowering.define(op, gives ? quantised(lowering, op, id, tree.type_of(op.first_result)) : id);
    return true;
  };
  const std::string_view verb = op.name.substr(op.name.rfind('.') + 1);
  if (verb == "uniform_quantize" || verb == "uniform_dequantize") return finish(real(0));
  const Rule* rule = find_rule(op.name);
  if (rule == nullptr) return false;
  const bool arithmetic = is_elementwise(rule->opcode) && rule->lower == lower_elementwise &&
                          rule->opcode != Opcode::kSelect;
  if (arithmetic) {
    std::vector<InstrId> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) operands.push_back(real(i));
    return finish(lowering.emit(op, rule->opcode, std::move(operands)));
  }
  if (op_class(rule->opcode) == OpClass::kMatrix) {
    lowering.warn(fmt::format(
        "{}: quantised products are taken of the stored integers, without their zero points",
        op.name));
  }
  return false;
}

}  // namespace tilecast::ir::stablehlo
