#include "ir/stablehlo/attribute_values.h"

#include <algorithm>

#include "ir/mlir/mlir_parser.h"

namespace tilecast::ir::stablehlo {
namespace {

// Most elements of a list attribute; the longest are replica groups of large pods.
constexpr std::size_t kMostListed = std::size_t{1} << 20;

}  // namespace

Dims AttributeValues::integers(const Attribute& attribute) const {
  Dims values;
  if (attribute.kind == Attribute::Kind::kInteger || attribute.kind == Attribute::Kind::kBool) {
    values.push_back(attribute.integer);
    return values;
  }
  if (attribute.kind == Attribute::Kind::kArray) {
    for (const Attribute& element : attribute.elements) {
      const Dims inner = integers(element);
      values.insert(values.end(), inner.begin(), inner.end());
    }
    return values;
  }
  if (attribute.kind != Attribute::Kind::kDense || !attribute.type.valid()) {
    fail_at(attribute.offset, "expects a list of integers");
  }
  const mlir::Type& type = tree_.at(attribute.type);
  if (!type.shape.is_array() || type.shape.is_unbounded()) {
    fail_at(attribute.offset, "expects a list of integers of a fixed size");
  }
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  if (count > kMostListed) fail_at(attribute.offset, "a list of {} integers is too long", count);
  const mlir::DenseValues dense = mlir::read_dense(attribute, type, text_, kMostListed);
  if (dense.splat && !dense.integers.empty()) {
    values.assign(count, dense.integers.front());
  } else if (dense.integers.size() == count) {
    values.assign(dense.integers.begin(), dense.integers.end());
  } else {
    fail_at(attribute.offset, "expects {} integers", count);
  }
  return values;
}

Dims AttributeValues::try_integers(const Attribute& dense, std::size_t most) const {
  const mlir::Type& type = tree_.at(dense.type);
  if (!type.shape.is_array() || type.shape.is_unbounded()) return {};
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  if (count > most) return {};
  const mlir::DenseValues values = mlir::read_dense(dense, type, text_, most);
  if (values.elided) return {};
  if (values.splat && !values.integers.empty()) return Dims(count, values.integers.front());
  return {values.integers.begin(), values.integers.end()};
}

Dims AttributeValues::integers(const Operation& op, std::string_view name) const {
  const Attribute* found = op.find(name);
  return found == nullptr ? Dims() : integers(*found);
}

Dims AttributeValues::field(const Attribute& attribute, std::string_view name) const {
  const Attribute* found = attribute.find(name);
  return found == nullptr ? Dims() : integers(*found);
}

std::vector<Dims> AttributeValues::rows(const Operation& op, std::string_view name) const {
  std::vector<Dims> result;
  const Attribute* found = op.find(name);
  if (found == nullptr) return result;
  if (found->kind == Attribute::Kind::kArray) {
    for (const Attribute& row : found->elements) result.push_back(integers(row));
    return result;
  }
  const Dims values = integers(*found);
  const Dims& dims = tree_.at(found->type).shape.dims;
  if (dims.size() != 2) fail_at(found->offset, "expects a list of lists of integers");
  const auto width = static_cast<std::size_t>(dims[1]);
  for (std::size_t i = 0; width > 0 && i + width <= values.size(); i += width) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(i);
    result.emplace_back(row, row + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

std::int64_t AttributeValues::integer(const Operation& op, std::string_view name,
                                      std::int64_t fallback) const {
  const Attribute* found = op.find(name);
  if (found == nullptr) return fallback;
  const Dims values = integers(*found);
  if (values.size() != 1) fail_at(found->offset, "{} must be one integer", name);
  return values.front();
}

std::int64_t AttributeValues::required_integer(const Operation& op, std::string_view name) const {
  static_cast<void>(required(op, name));
  return integer(op, name, 0);
}

bool AttributeValues::flag(const Operation& op, std::string_view name) const {
  const Attribute* found = op.find(name);
  return found != nullptr && (found->kind == Attribute::Kind::kUnit || integer(op, name, 0) != 0);
}

std::string AttributeValues::word(const Attribute& attribute) const {
  std::string_view text = attribute.text;
  if (attribute.kind == Attribute::Kind::kString || attribute.kind == Attribute::Kind::kSymbol) {
    text = attribute.string;
  }
  while (!text.empty() && (text.back() == '>' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t last = text.find_last_of(" <.\"");
  return std::string(last == std::string_view::npos ? text : text.substr(last + 1));
}

std::string AttributeValues::word(const Operation& op, std::string_view name) const {
  const Attribute* found = op.find(name);
  return found == nullptr ? std::string() : word(*found);
}

const Attribute& AttributeValues::required(const Operation& op, std::string_view name) const {
  const Attribute* found = op.find(name);
  if (found == nullptr) fail(op, "lacks its attribute {}", name);
  return *found;
}

std::string AttributeValues::spelt(const Attribute& attribute) const {
  if (attribute.kind == Attribute::Kind::kString) return attribute.string;
  if (attribute.kind != Attribute::Kind::kCustom) return std::string(attribute.text);
  return fmt::format("#{}<{}>", attribute.string, attribute.text);
}

}  // namespace tilecast::ir::stablehlo
