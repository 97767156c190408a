#include "ir/onnx/node_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/literal.h"

namespace tilecast::ir::onnx_reader {
namespace {

// Indexed by TensorProto.DataType.
constexpr DType kTypes[] = {
    DType::kInvalid,    DType::kF32,  DType::kU8,       DType::kS8,         DType::kU16,
    DType::kS16,        DType::kS32,  DType::kS64,      DType::kInvalid,    DType::kPred,
    DType::kF16,        DType::kF64,  DType::kU32,      DType::kU64,        DType::kC64,
    DType::kC128,       DType::kBF16, DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
    DType::kF8E5M2FNUZ, DType::kU4,   DType::kS4,       DType::kF4E2M1FN,
};

// The number whose bits, as in memory, are the low ones of `word`.
double number_of(std::uint64_t word, DType dtype) {
  if (is_floating(dtype)) return from_bits(word, dtype);
  if (!is_signed_integer(dtype)) return static_cast<double>(word);
  const int unused = 64 - bits(dtype);
  return static_cast<double>(static_cast<std::int64_t>(word << unused) >> unused);
}

// Empty for types whose numbers are not read: those of less than a byte, of 8 floating-point bits
// and complex ones.
Numbers raw_numbers(DType dtype, const std::string& raw) {
  Numbers numbers;
  const auto width = static_cast<std::size_t>(storage_bytes(dtype));
  if (bits(dtype) < (is_floating(dtype) ? 16 : 8) || is_complex(dtype)) return numbers;
  for (std::size_t at = 0; at + width <= raw.size(); at += width) {
    std::uint64_t word = 0;
    std::memcpy(&word, raw.data() + at, width);
    numbers.push_back(number_of(word, dtype));
  }
  return numbers;
}

Numbers typed_numbers(DType dtype, const ::onnx::TensorProto& tensor) {
  const auto all = [](const auto& field) { return Numbers(field.begin(), field.end()); };
  if (dtype == DType::kF32) return all(tensor.float_data());
  if (dtype == DType::kF64) return all(tensor.double_data());
  if (dtype == DType::kS64) return all(tensor.int64_data());
  if (dtype == DType::kU32 || dtype == DType::kU64) return all(tensor.uint64_data());
  Numbers numbers = all(tensor.int32_data());
  for (double& value : numbers) {
    if (dtype == DType::kF16 || dtype == DType::kBF16) {
      value = from_bits(static_cast<std::uint16_t>(to_integer(value)), dtype);
    }
  }
  return numbers;
}

}  // namespace

DType element_type(std::int64_t onnx_type) {
  const bool known = onnx_type > 0 && onnx_type < static_cast<std::int64_t>(std::size(kTypes));
  const DType dtype = known ? kTypes[onnx_type] : DType::kInvalid;
  if (dtype == DType::kInvalid) {
    throw Error(fmt::format("element type {} of ONNX ({}) has no counterpart in HLO", onnx_type,
                            onnx_type == ::onnx::TensorProto::STRING ? "string" : "not known"));
  }
  return dtype;
}

int onnx_type(DType dtype) {
  return static_cast<int>(std::find(std::begin(kTypes) + 1, std::end(kTypes), dtype) -
                          std::begin(kTypes));
}

Shape tensor_shape(const ::onnx::TensorProto& tensor) {
  Shape shape = Shape::array(element_type(tensor.data_type()),
                             Dims(tensor.dims().begin(), tensor.dims().end()));
  for (const std::int64_t size : shape.dims) {
    if (size < 0) throw Error(fmt::format("tensor {} has a negative size", tensor.name()));
  }
  static_cast<void>(element_count(shape));
  return shape;
}

std::optional<Numbers> tensor_numbers(const ::onnx::TensorProto& tensor) {
  const Shape shape = tensor_shape(tensor);
  const std::int64_t count = element_count(shape);
  if (count > kMostFolded || tensor.data_location() == ::onnx::TensorProto::EXTERNAL ||
      is_complex(shape.dtype)) {
    return std::nullopt;
  }
  Numbers numbers = tensor.raw_data().empty() ? typed_numbers(shape.dtype, tensor)
                                              : raw_numbers(shape.dtype, tensor.raw_data());
  if (static_cast<std::int64_t>(numbers.size()) != count) return std::nullopt;
  return numbers;
}

Term tensor_term(Emitter& emitter, const ::onnx::TensorProto& tensor, const std::string& name) {
  if (auto numbers = tensor_numbers(tensor)) {
    return emitter.constant(tensor_shape(tensor), std::move(*numbers), name);
  }
  return emitter.weight(tensor_shape(tensor), name);
}

bool NodeSite::has(std::size_t input) const {
  return input < count() && !node.input(static_cast<int>(input)).empty();
}

bool NodeSite::gives(int output) const {
  return output < node.output_size() && !node.output(output).empty();
}

Term NodeSite::operator[](std::size_t input) const {
  if (!has(input)) throw Error(fmt::format("input {} is missing", input));
  const std::string& name = node.input(static_cast<int>(input));
  const auto found = scope.values.find(name);
  if (found == scope.values.end()) {
    throw Error(fmt::format("input `{}` is not defined before it is used", name));
  }
  return found->second;
}

Term NodeSite::or_zero(std::size_t input, Term like_this) const {
  return has(input) ? (*this)[input] : like(like_this, 0);
}

Terms NodeSite::inputs() const {
  Terms all;
  for (std::size_t i = 0; i < count(); ++i) all.push_back((*this)[i]);
  return all;
}

std::optional<Numbers> NodeSite::known_numbers(std::size_t input) const {
  if (!has(input)) return std::nullopt;
  const Numbers* numbers = (*this)[input].numbers();
  if (numbers == nullptr) {
    throw Error(fmt::format(
        "the result's shape depends on input `{}`, whose value is known only when the program runs",
        node.input(static_cast<int>(input))));
  }
  return *numbers;
}

std::optional<Dims> NodeSite::known(std::size_t input) const {
  const auto numbers = known_numbers(input);
  if (!numbers) return std::nullopt;
  Dims dims;
  for (const double value : *numbers) dims.push_back(to_integer(value));
  return dims;
}

Dims NodeSite::need_known(std::size_t input) const {
  if (auto dims = known(input)) return *dims;
  throw Error(fmt::format("input {} is missing", input));
}

std::optional<Dims> NodeSite::attribute_or_input(const char* name, std::size_t input) const {
  return has(input) ? known(input) : integers(name);
}

const ::onnx::AttributeProto* NodeSite::find(const std::string& name) const {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto given = scope.attributes.find(attribute.ref_attr_name());
    return given == scope.attributes.end() ? nullptr : given->second;
  }
  return nullptr;
}

std::int64_t NodeSite::integer(const char* name, std::int64_t fallback) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? fallback : attribute->i();
}

double NodeSite::number(const char* name, double fallback) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? fallback : attribute->f();
}

std::string NodeSite::text(const char* name, const std::string& fallback) const {
  const auto* attribute = find(name);
  return attribute == nullptr ? fallback : attribute->s();
}

std::optional<Dims> NodeSite::integers(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  return Dims(attribute->ints().begin(), attribute->ints().end());
}

const ::onnx::GraphProto& NodeSite::subgraph(const char* name) const {
  const auto* attribute = find(name);
  if (attribute == nullptr || !attribute->has_g()) {
    throw Error(fmt::format("attribute {} is missing, expected a graph", name));
  }
  return attribute->g();
}

}  // namespace tilecast::ir::onnx_reader
