#include "schedule/from_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "analytical/iteration_space.h"
#include "base/error.h"
#include "schedule/reads.h"
#include "schedule/walk.h"

namespace tilecast::schedule {
namespace {

using ir::DType;
using ir::Op;
using ir::Opcode;
using ir::OpId;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool is_row_major(const ir::Shape& shape) {
  const ir::Dims order = analytical::physical_order(shape);
  return std::is_sorted(order.begin(), order.end());
}

ir::Dims strides_of(const ir::Shape& shape) {
  if (is_row_major(shape)) return {};
  ir::Dims strides(shape.dims.size(), 1);
  std::int64_t next = 1;
  const ir::Dims order = analytical::physical_order(shape);
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[at(order[i])] = next;
    next *= shape.dims[at(order[i])];
  }
  return strides;
}

bool is_half(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

class Reader {
 public:
  explicit Reader(const ir::Kernel& kernel) : kernel_(kernel) { program_.name = kernel.name(); }

  LoopProgram read() {
    for (const OpId id : kernel_.parameters()) add_buffer(id, Role::kInput);
    for (const OpId id : kernel_.outputs()) {
      if (kernel_.op(id).opcode == Opcode::kParameter || program_.find(name(id)) != nullptr) {
        refuse(kernel_.op(id), "is passed through or given twice, which has no loop nest yet");
      }
      add_buffer(id, Role::kOutput);
    }
    for (std::size_t i = 0; i < kernel_.ops().size(); ++i) add_op(OpId(i));
    return std::move(program_);
  }

 private:
  [[noreturn]] void refuse(const Op& op, const std::string& why) const {
    const OpId id(static_cast<std::size_t>(&op - kernel_.ops().data()));
    throw Error(fmt::format("{}: {} {}", kernel_.name_of(id), ir::name(op.opcode), why));
  }
  [[nodiscard]] std::string name(OpId id) const { return buffer_name(kernel_, id); }

  void add_buffer(OpId id, Role role) {
    const ir::Shape& shape = kernel_.op(id).shape;
    if (!shape.is_array() || shape.dynamic_mask != 0 || ir::element_count(shape) == 0) {
      refuse(kernel_.op(id), "has a shape without loops: dynamic or empty");
    }
    program_.buffers.push_back(
        {name(id), shape.dtype, shape.dims, strides_of(shape), Scope::kMain, role, 1});
  }

  void add_op(OpId id) {
    const Op& op = kernel_.op(id);
    if (op.opcode == Opcode::kParameter || is_number(op)) return;
    if (program_.find(name(id)) == nullptr) add_buffer(id, Role::kTemporary);
    ++nests_;
    switch (op.opcode) {
      case Opcode::kDot:
        return add_dot(id);
      case Opcode::kConvolution:
        return add_convolution(id);
      case Opcode::kReduce:
        return add_reduce(id);
      default:
        break;
    }
    const std::vector<Loop> loops = output_loops(op, "");
    const Position position = position_of(loops);
    // Computed before the initialiser list: GCC 12 destroys parts of a list twice if a later one
    // throws.
    const Value value = element(op, position);
    add_nest(loops, {{name(id), {}, position}, value, {}, {}});
  }

  [[nodiscard]] static bool is_number(const Op& op) {
    return op.opcode == Opcode::kConstant && ir::element_count(op.shape) == 1;
  }

  // --- loops
  [[nodiscard]] Loop loop(const std::string& stem, std::int64_t extent) const {
    return {
        nests_ > 1 ? fmt::format("{}_{}", stem, nests_) : stem, extent, LoopKind::kSequential, {}};
  }
  [[nodiscard]] std::vector<Loop> output_loops(const Op& op, const std::string& tail) const {
    std::vector<Loop> loops;
    const ir::Dims& dims = op.shape.dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const bool few = dims.size() <= 2;
      const std::string stem = few ? (d == 0 ? "i" : "j") : fmt::format("i{}", d);
      loops.push_back(loop(stem + tail, dims[d]));
    }
    return loops;
  }
  [[nodiscard]] static Position position_of(const std::vector<Loop>& loops) {
    Position position;
    for (const Loop& l : loops) position.push_back(Index::of(l.variable));
    return position;
  }
  void add_nest(const std::vector<Loop>& loops, Assign innermost) {
    program_.body.push_back(nested(loops, {std::move(innermost)}));
  }

  // --- values
  [[nodiscard]] Value read(OpId id, Position position) const {
    const Op& op = kernel_.op(id);
    if (is_number(op)) return Value::of(number(op), op.shape.dtype);
    return Value::of(Access{name(id), {}, std::move(position)}, op.shape.dtype);
  }

  [[nodiscard]] double number(const Op& op) const {
    const ir::Literal& literal = op.as<ir::ConstantAttrs>().literal;
    if (literal.is_integer && literal.integers.size() == 1) {
      return static_cast<double>(literal.integers[0]);
    }
    if (literal.elided) refuse(op, "has a value that the dump left out");
    std::string text = literal.text;
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '{' || c == '}'; }, ' ');
    if (text == "true" || text == "false") return text == "true" ? 1 : 0;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str()) refuse(op, "has a value that is not understood");
    return value;
  }

  [[nodiscard]] Value element(const Op& op, const Position& position) const {
    const ir::OpClass work = ir::op_class(op.opcode);
    const int operands = static_cast<int>(op.operands.size());
    const bool computes = work == ir::OpClass::kElementwise || work == ir::OpClass::kTranscendental;
    if (computes && ir::info(op.opcode).arity == operands && operands <= 3) {
      std::vector<Value> values;
      for (std::size_t i = 0; i < op.operands.size(); ++i) {
        values.push_back(read(op.operands[i], reads(op, i, position)));
      }
      Value value = Value::apply(op.opcode, op.shape.dtype, std::move(values));
      if (const auto* compare = op.get<ir::CompareAttrs>()) value.direction = compare->direction;
      return value;
    }
    return read(op.operands.empty() ? OpId() : op.operands[0], source_position(op, position));
  }

  [[nodiscard]] Position reads(const Op& op, std::size_t operand, const Position& at,
                               const Position& summed = {}) const {
    return *read_position(op, operand, kernel_.op(op.operands[operand]).shape, at, summed);
  }
  // Position in the operand of an op that only moves elements.
  [[nodiscard]] Position source_position(const Op& op, const Position& position) const {
    if (ir::has(op.opcode, ir::Trait::kReshapes)) return reshaped(op, position);
    if (ir::has(op.opcode, ir::Trait::kView)) return reads(op, 0, position);
    refuse(op, "has no loop nest yet");
  }

  [[nodiscard]] Position reshaped(const Op& op, const Position& position) const {
    const ir::Shape& operand = kernel_.op(op.operands[0]).shape;
    if (operand.dtype != op.shape.dtype || !is_row_major(operand) || !is_row_major(op.shape)) {
      refuse(op, "of arrays that are not row-major has no loop nest yet");
    }
    Index linear;
    for (std::size_t d = 0; d < position.size(); ++d) {
      linear = linear * op.shape.dims[d] + position[d];
    }
    Position source(operand.dims.size());
    for (std::size_t d = source.size(); d-- > 0;) {
      source[d] = d == 0 ? linear : linear % operand.dims[d];
      linear = linear / operand.dims[d];
    }
    return source;
  }

  // --- sums: one nest clears, one adds, and one rounds if the sum is wider than the result
  struct Sum {
    std::vector<Loop> output, reduced;
    Value start, term;
    Opcode combine = Opcode::kAdd;
    std::vector<Bound> where;
  };
  void add_sum(OpId id, Sum sum) {
    const Op& op = kernel_.op(id);
    std::string target = name(id);
    if (is_half(op.shape.dtype)) {
      target += ".sum";
      program_.buffers.push_back(
          {target, DType::kF32, op.shape.dims, {}, Scope::kMain, Role::kTemporary, 1});
    }
    const std::vector<Loop> cleared = output_loops(op, ".init");
    add_nest(cleared, {{target, {}, position_of(cleared)}, sum.start, {}, {}});
    std::vector<Loop> loops = sum.output;
    loops.insert(loops.end(), sum.reduced.begin(), sum.reduced.end());
    add_nest(loops, {{target, {}, position_of(sum.output)}, sum.term, sum.combine, sum.where});
    if (target == name(id)) return;
    const std::vector<Loop> rounded = output_loops(op, ".round");
    const Position position = position_of(rounded);
    const Value wide = Value::of(Access{target, {}, position}, DType::kF32);
    add_nest(
        rounded,
        {{name(id), {}, position}, Value::apply(Opcode::kConvert, op.shape.dtype, {wide}), {}, {}});
  }

  // A factor of a product, converted to the type of the sum.
  [[nodiscard]] Value factor(OpId id, Position position, DType dtype) const {
    Value value = read(id, std::move(position));
    const DType wide = is_half(dtype) ? DType::kF32 : dtype;
    if (value.dtype == wide) return value;
    const bool exact =
        value.kind == Value::Kind::kNumber && (value.number == 0 || std::abs(value.number) == 1 ||
                                               std::isinf(value.number));  // exact in every type
    if (exact && ir::is_floating(value.dtype)) return Value::of(value.number, wide);
    return Value::apply(Opcode::kConvert, wide, {std::move(value)});
  }
  [[nodiscard]] Value product(Value a, Value b) const {
    const DType dtype = a.dtype;
    return Value::apply(Opcode::kMultiply, dtype, {std::move(a), std::move(b)});
  }
  [[nodiscard]] static Value zero(DType dtype) {
    return Value::of(0.0, is_half(dtype) ? DType::kF32 : dtype);
  }

  void add_dot(OpId id) {
    const Op& op = kernel_.op(id);
    const ir::DotDims& dims = op.as<ir::DotAttrs>().dims;
    Sum sum{.output = output_loops(op, ""), .start = zero(op.shape.dtype)};
    const ir::Shape& lhs = kernel_.op(op.operands[0]).shape;
    for (std::size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
      sum.reduced.push_back(
          loop(i == 0 ? "k" : fmt::format("k{}", i), lhs.dims[at(dims.lhs_contracting[i])]));
    }
    add_products(id, std::move(sum));
  }

  void add_products(OpId id, Sum sum) {
    const Op& op = kernel_.op(id);
    const Position out = position_of(sum.output), summed = position_of(sum.reduced);
    Value left = factor(op.operands[0], reads(op, 0, out, summed), op.shape.dtype);
    Value right = factor(op.operands[1], reads(op, 1, out, summed), op.shape.dtype);
    sum.term = product(std::move(left), std::move(right));
    add_sum(id, std::move(sum));
  }

  void add_convolution(OpId id) {
    const Op& op = kernel_.op(id);
    const auto& attrs = op.as<ir::ConvAttrs>();
    const ir::ConvDims& dims = attrs.dims;
    if (attrs.feature_group_count != 1 || attrs.batch_group_count != 1) {
      refuse(op, "in groups has no loop nest yet");
    }
    Sum sum{.output = output_loops(op, ""), .start = zero(op.shape.dtype)};
    const ir::Shape& weights = kernel_.op(op.operands[1]).shape;
    sum.reduced.push_back(loop("k", weights.dims[at(dims.kernel_input_feature)]));
    for (std::size_t w = 0; w < attrs.window.size(); ++w) {
      if (attrs.window[w].base_dilation != 1) refuse(op, "of a dilated input has no loop nest yet");
      sum.reduced.push_back(loop(fmt::format("r{}", w), attrs.window[w].size));
    }
    const Position pixel = reads(op, 0, position_of(sum.output), position_of(sum.reduced));
    for (std::size_t w = 0; w < attrs.window.size(); ++w) {
      if (attrs.window[w].pad_low == 0 && attrs.window[w].pad_high <= 0) continue;
      const std::size_t d = at(dims.input_spatial[w]);
      sum.where.push_back({pixel[d], kernel_.op(op.operands[0]).shape.dims[d]});
    }
    add_products(id, std::move(sum));
  }

  void add_reduce(OpId id) {
    const Op& op = kernel_.op(id);
    if (!op.applied || op.operands.size() != 2 || !op.shape.is_array()) {
      refuse(op, "by more than one op has no loop nest yet");
    }
    const Op& input = kernel_.op(op.operands[0]);
    const Value start = factor(op.operands[1], {}, op.shape.dtype);  // may throw: see add_op()
    Sum sum{output_loops(op, ""), {}, start, {}, *op.applied, {}};
    for (std::int64_t d = 0; d < input.shape.rank(); ++d) {
      const auto& summed = op.dimensions;
      if (std::find(summed.begin(), summed.end(), d) == summed.end()) continue;
      const std::size_t n = sum.reduced.size();
      sum.reduced.push_back(loop(n == 0 ? "k" : fmt::format("k{}", n), input.shape.dims[at(d)]));
    }
    sum.term =
        factor(op.operands[0], reads(op, 0, position_of(sum.output), position_of(sum.reduced)),
               op.shape.dtype);
    add_sum(id, std::move(sum));
  }

  const ir::Kernel& kernel_;
  LoopProgram program_;
  int nests_ = 0;
};

}  // namespace

std::string buffer_name(const ir::Kernel& kernel, OpId id) {
  const std::string& name = kernel.name_of(id);
  std::string made;
  for (const char c : name) {
    made += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ? c : '_';
  }
  bool taken = false;
  for (std::size_t i = 0; i < kernel.ops().size(); ++i) {
    taken |= OpId(i) != id && kernel.name_of(OpId(i)) == name;
  }
  const ir::Opcode opcode = kernel.op(id).opcode;
  return made.empty() || taken ? fmt::format("{}.{}", ir::name(opcode), id.index()) : made;
}

LoopProgram read_loops(const ir::Kernel& kernel) {
  return Reader(kernel).read();
}

}  // namespace tilecast::schedule
