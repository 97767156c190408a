#include "ir/stablehlo/shape_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/literal.h"

namespace tilecast::ir::stablehlo {
namespace {

using Value = std::optional<Integers>;

// Maps stablehlo.add, mhlo.add and arith.addi to the same operation.
std::string_view verb_of(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

struct Binary {
  std::string_view names;  // separated by spaces
  std::optional<std::int64_t> (*compute)(std::int64_t, std::int64_t);
};

constexpr Binary kBinary[] = {
    {" add addi ",
     [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
       std::int64_t sum = 0;
       return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
     }},
    {" subtract subi ",
     [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
       std::int64_t difference = 0;
       return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional(difference);
     }},
    {" multiply muli ",
     [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
       std::int64_t product = 0;
       return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
     }},
    {" divide divsi divui ",
     [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
       return b == 0 || b == -1 ? std::nullopt : std::optional(a / b);
     }},
    {" remainder remsi remui ",
     [](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
       return b == 0 || b == -1 ? std::nullopt : std::optional(a % b);
     }},
    {" maximum maxsi maxui ",
     [](std::int64_t a, std::int64_t b) { return std::optional(std::max(a, b)); }},
    {" minimum minsi minui ",
     [](std::int64_t a, std::int64_t b) { return std::optional(std::min(a, b)); }},
    {" and andi ", [](std::int64_t a, std::int64_t b) { return std::optional(a & b); }},
    {" or ori ", [](std::int64_t a, std::int64_t b) { return std::optional(a | b); }},
};

bool compares(std::string_view direction, std::int64_t a, std::int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  return direction == "GT" ? a > b : a >= b;
}

bool named(std::string_view names, std::string_view verb) {
  for (std::size_t at = names.find(verb); at != std::string_view::npos;
       at = names.find(verb, at + 1)) {
    if (at > 0 && names[at - 1] == ' ' && names[at + verb.size()] == ' ') return true;
  }
  return false;
}

// Evaluates one op over known operands.
class Folder {
 public:
  Folder(Lowering& lowering, const Operation& op)
      : lowering_(lowering),
        op_(op),
        verb_(verb_of(op.name)),
        result_(lowering.written(op.first_result)) {}

  Value value() {
    if (Value sizes = from_shapes()) return sizes;
    if (verb_ == "constant") return constant();
    if (verb_ == "iota") return iota();
    for (std::size_t i = 0; i < op_.operands.size(); ++i) {
      const Integers* values = lowering_.known(op_.operands[i]);
      if (values == nullptr) return std::nullopt;
      operands_.push_back(values);
    }
    if (operands_.empty()) return std::nullopt;
    if (Value moved = from_movement()) return moved;
    return from_arithmetic();
  }

 private:
  Value from_shapes();
  Value constant() const;
  Value iota() const;
  Value from_movement() const;
  Value from_arithmetic() const;
  Value broadcast_sizes() const;
  Value slice() const;
  Value reduce() const;

  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(element_count(result_));
  }
  // Element `i`; for a scalar, its only element.
  static std::int64_t at(const Integers& values, std::size_t i) {
    return values.size() == 1 ? values.front() : values[i];
  }

  Lowering& lowering_;
  const Operation& op_;
  std::string_view verb_;
  const Shape& result_;
  std::vector<const Integers*> operands_;
};

// Folds ops that depend only on the shapes of operands.
Value Folder::from_shapes() {
  if (!named(" get_dimension_size dim shape_of rank ", verb_)) return std::nullopt;
  const Shape& shape = lowering_.shape(lowering_.operand(op_, 0));
  if (!shape.is_array() || shape.dynamic_mask != 0) return std::nullopt;
  if (verb_ == "rank") return Integers{shape.rank()};
  if (verb_ == "shape_of") return Integers(shape.dims.begin(), shape.dims.end());
  std::int64_t dim = lowering_.integer(op_, "dimension", -1);
  if (op_.operands.size() > 1) {
    const Integers* index = lowering_.known(op_.operands[1]);
    if (index != nullptr && index->size() == 1) dim = index->front();
  }
  if (dim < 0 || dim >= shape.rank()) return std::nullopt;
  return Integers{shape.dims[static_cast<std::size_t>(dim)]};
}

Value Folder::constant() const {
  const Attribute* value = op_.find("value");
  if (value == nullptr) return std::nullopt;
  using Kind = Attribute::Kind;
  if (value->kind == Kind::kInteger || value->kind == Kind::kBool) return Integers{value->integer};
  if (value->kind != Kind::kDense || !value->type.valid()) return std::nullopt;
  const Dims values = lowering_.try_integers(*value, kMostElements);
  if (values.size() != count()) return std::nullopt;
  return Integers(values.begin(), values.end());
}

Value Folder::iota() const {
  if (result_.rank() != 1) return std::nullopt;
  Integers values(count());
  std::iota(values.begin(), values.end(), 0);
  return values;
}

Value Folder::from_movement() const {
  const Integers& first = *operands_.front();
  if (named(" convert reshape index_cast extsi extui trunci dynamic_reshape to_extent_tensor "
            "from_extent_tensor cast value_as_shape ",
            verb_)) {
    return first.size() == count() ? Value(first) : std::nullopt;
  }
  const bool stacks = named(" from_elements from_extents ", verb_);
  if (stacks || (verb_ == "concatenate" && lowering_.integer(op_, "dimension", 0) == 0)) {
    Integers all;
    for (const Integers* each : operands_) all.insert(all.end(), each->begin(), each->end());
    return all;
  }
  if (named(" broadcast_in_dim dynamic_broadcast_in_dim ", verb_)) {
    if (first.size() == 1) return Integers(count(), first.front());
    return first.size() == count() ? Value(first) : std::nullopt;
  }
  if (named(" get_extent extract ", verb_)) {
    if (operands_.size() == 1) return first.size() == 1 ? Value(first) : std::nullopt;
    if (operands_.size() != 2 || operands_[1]->size() != 1) return std::nullopt;
    const std::int64_t index = operands_[1]->front();
    if (index < 0 || static_cast<std::size_t>(index) >= first.size()) return std::nullopt;
    return Integers{first[static_cast<std::size_t>(index)]};
  }
  if (verb_ == "slice") return slice();
  if (verb_ == "reduce") return reduce();
  return std::nullopt;
}

Value Folder::slice() const {
  const Integers& from = *operands_.front();
  const Dims start = lowering_.integers(op_, "start_indices");
  const Dims limit = lowering_.integers(op_, "limit_indices");
  const Dims strides = lowering_.integers(op_, "strides");
  if (start.size() != 1 || limit.size() != 1 || strides.size() > 1) return std::nullopt;
  const std::int64_t stride = strides.empty() ? 1 : strides.front();
  if (start[0] < 0 || limit[0] > static_cast<std::int64_t>(from.size()) || stride < 1) {
    return std::nullopt;
  }
  Integers values;
  for (std::int64_t i = start[0]; i < limit[0]; i += stride) {
    values.push_back(from[static_cast<std::size_t>(i)]);
  }
  return values;
}

// Combines all elements by one operation.
Value Folder::reduce() const {
  if (operands_.size() != 2 || result_.rank() != 0 || op_.regions.size() != 1 ||
      op_.regions[0].blocks.size() != 1 || op_.regions[0].blocks[0].operations.size() != 2) {
    return std::nullopt;
  }
  const std::string_view verb = verb_of(op_.regions[0].blocks[0].operations[0].name);
  const auto* row = std::find_if(std::begin(kBinary), std::end(kBinary),
                                 [&](const Binary& each) { return named(each.names, verb); });
  if (row == std::end(kBinary)) return std::nullopt;
  std::optional<std::int64_t> total = operands_[1]->front();
  for (const std::int64_t value : *operands_[0]) {
    if (total) total = row->compute(*total, value);
  }
  return total ? Value(Integers{*total}) : std::nullopt;
}

// shape.broadcast: aligned at the right; sizes of 1 are repeated.
Value Folder::broadcast_sizes() const {
  Integers sizes;
  for (const Integers* each : operands_) {
    if (each->size() > sizes.size()) sizes.insert(sizes.begin(), each->size() - sizes.size(), 1);
    const std::size_t skip = sizes.size() - each->size();
    for (std::size_t i = 0; i < each->size(); ++i) {
      if (sizes[skip + i] == 1) sizes[skip + i] = (*each)[i];
    }
  }
  return sizes;
}

Value Folder::from_arithmetic() const {
  const Integers& first = *operands_.front();
  if (op_.name == "shape.broadcast") return broadcast_sizes();
  if (verb_ == "num_elements") {
    std::int64_t product = 1;
    for (const std::int64_t size : first) {
      if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
    }
    return Integers{product};
  }
  if (verb_ == "compute_reshape_shape" && operands_.size() == 2) {
    Integers sizes = *operands_[1];
    std::int64_t rest = first.front();
    for (const std::int64_t size : sizes) rest = size > 0 ? rest / size : rest;
    std::replace(sizes.begin(), sizes.end(), std::int64_t{-1}, rest);
    return sizes;
  }
  Integers values(count());
  const auto* row = std::find_if(std::begin(kBinary), std::end(kBinary),
                                 [&](const Binary& each) { return named(each.names, verb_); });
  const bool chooses = verb_ == "select" && operands_.size() == 3;
  const bool compare = verb_ == "compare" && operands_.size() == 2;
  if (row == std::end(kBinary) && !chooses && !compare) {
    if (!named(" negate abs sign not ", verb_) || first.size() != count()) return std::nullopt;
  } else if (operands_.size() < 2) {
    return std::nullopt;
  }
  for (const Integers* each : operands_) {
    if (each->size() != 1 && each->size() != count()) return std::nullopt;
  }
  const std::string direction = compare ? lowering_.word(op_, "comparison_direction") : "";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t a = at(first, i);
    if (chooses) {
      values[i] = at(*operands_[a != 0 ? 1 : 2], i);
    } else if (compare) {
      values[i] = compares(direction, a, at(*operands_[1], i)) ? 1 : 0;
    } else if (row != std::end(kBinary)) {
      const std::optional<std::int64_t> value = row->compute(a, at(*operands_[1], i));
      if (!value) return std::nullopt;
      values[i] = *value;
    } else if (verb_ == "sign") {
      values[i] = a > 0 ? 1 : a < 0 ? -1 : 0;
    } else if (verb_ == "not") {
      if (result_.dtype != DType::kPred) return std::nullopt;
      values[i] = a == 0 ? 1 : 0;
    } else {
      if (a == INT64_MIN) return std::nullopt;
      values[i] = verb_ == "abs" ? std::abs(a) : -a;
    }
  }
  return values;
}

void append_float(std::string& out, double value, DType dtype) {
  out += std::isnan(value) ? canonical_nan(std::signbit(value), std::nullopt, dtype)
                           : canonical_float(value, dtype);
}

}  // namespace

bool fold(Lowering& lowering, const Operation& op) {
  if (op.result_count != 1) return false;
  const Shape& result = lowering.written(op.first_result);
  const bool small = result.is_array() && !result.is_unbounded() && result.dynamic_mask == 0 &&
                     (is_integer(result.dtype) || result.dtype == DType::kPred) &&
                     element_count(result) <= static_cast<std::int64_t>(kMostElements);
  if (!small) return false;
  std::optional<Integers> values = Folder(lowering, op).value();
  if (!values || values->size() != static_cast<std::size_t>(element_count(result))) return false;
  lowering.set_known(op.first_result, std::move(*values));
  lowering.unbind(op.first_result);
  return true;
}

Literal literal_of(const Shape& shape, const Integers& values) {
  mlir::DenseValues dense;
  dense.integers = values;
  dense.count = static_cast<std::int64_t>(values.size());
  dense.splat = false;
  return literal_of(shape, dense);
}

Literal literal_of(const Shape& shape, const mlir::DenseValues& values) {
  Literal literal;
  const bool integral = is_integer(shape.dtype) || shape.dtype == DType::kPred;
  const std::size_t parts = is_complex(shape.dtype) ? 2 : 1;
  const std::size_t given = integral ? values.integers.size() : values.numbers.size() / parts;
  const std::int64_t count = element_count(shape);
  const bool complete = values.splat ? given >= 1 : static_cast<std::int64_t>(given) == count;
  literal.elided = values.elided || !fits_in_text(shape.dims) || !complete;
  if (literal.elided) {
    literal.text = "{...}";
    return literal;
  }
  literal.is_integer = integral && count <= static_cast<std::int64_t>(kMostElements);
  std::size_t index = 0;
  append_array_literal(literal.text, shape.dims, [&](std::string& out) {
    const std::size_t i = values.splat ? 0 : index++;
    if (is_complex(shape.dtype)) {
      const DType part = shape.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
      out += '(';
      append_float(out, values.numbers[2 * i], part);
      out += ", ";
      append_float(out, values.numbers[2 * i + 1], part);
      out += ')';
    } else if (!integral) {
      append_float(out, values.numbers[i], shape.dtype);
    } else {
      const std::int64_t value = values.integers[i];
      if (literal.is_integer) literal.integers.push_back(value);
      if (shape.dtype == DType::kPred && shape.dims.empty()) {
        out += value != 0 ? "true" : "false";
      } else if (shape.dtype == DType::kU64) {
        out += std::to_string(static_cast<std::uint64_t>(value));
      } else {
        out += std::to_string(value);
      }
    }
  });
  return literal;
}

}  // namespace tilecast::ir::stablehlo
