// Types: `tensor<2x?xf32, #encoding>`, scalars, tuples, functions, tokens.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {
namespace {

constexpr std::size_t kMaxTupleLeaves = 65536;

// i1, i32, ui8, si64, bf16, f8E4M3FN, index ...; kInvalid if there is no such element type.
DType scalar_dtype(std::string_view text) {
  if (text == "i1" || text == "ui1") return DType::kPred;
  if (text == "index") return DType::kS64;
  std::string name(text);
  if (name.starts_with("si")) name.erase(0, 1);
  if (name.starts_with("ui")) name.erase(1, 1);
  if (name.front() == 'i') name.front() = 's';
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  const DType dtype = parse_dtype(name).value_or(DType::kInvalid);
  const bool is_scalar = is_integer(dtype) || is_floating(dtype);
  return is_scalar ? dtype : DType::kInvalid;
}

Type scalar_type(DType dtype) {
  Type type;
  if (dtype == DType::kInvalid) return type;
  type.kind = Type::Kind::kScalar;
  type.shape = Shape::array(dtype, {});
  return type;
}

}  // namespace

TypeId Reader::type() {
  const Nesting level(*this);
  const char first = in_.peek();
  if (first == '(') return function_type();
  const std::string_view text = type_text();
  if (const auto known = type_ids_.find(text); known != type_ids_.end()) return known->second;
  if (first == '!' && aliases_.contains(text)) {
    const TypeId id = at_alias(text, [this] { return type(); });
    return type_ids_.emplace(text, id).first->second;
  }
  const std::size_t end = in_.offset();
  Type type = spelled_type(text);
  in_.seek(end);
  type.text = text;
  const TypeId id = add_type(std::move(type));
  type_ids_.emplace(text, id);
  return id;
}

TypeId Reader::add_type(Type type) {
  tree_.types.push_back(std::move(type));
  return TypeId(tree_.types.size() - 1);
}

TypeId Reader::intern(std::string text) {
  if (const auto known = type_ids_.find(text); known != type_ids_.end()) return known->second;
  const std::string& kept = tree_.texts.emplace_back(std::move(text));
  const base::SourceText alone("type", kept);
  Reader reader(alone);
  Type type = reader.tree_.types[reader.type().index()];
  type.text = kept;
  type.encoding = type.quantised = {};
  const TypeId id = add_type(std::move(type));
  type_ids_.emplace(kept, id);
  return id;
}

// Consumes the text of a type other than a function type.
std::string_view Reader::type_text() {
  const std::size_t begin = in_.offset();
  if (in_.raw() == '!') {
    in_.seek(begin + 1);
    in_.suffix_id();
  } else {
    in_.word("a type");
  }
  const std::size_t end = in_.offset();
  if (in_.peek() == '<') {
    in_.balanced();
  } else {
    in_.seek(end);
  }
  return in_.text_from(begin);
}

// Parses the type in `text`, which ends at the scanner's position.
Type Reader::spelled_type(std::string_view text) {
  const std::size_t begin = in_.offset() - text.size();
  const std::size_t open = std::min(text.find('<'), text.size());
  const std::string_view name = base::trim(text.substr(0, open));
  in_.seek(begin + open + 1);
  if (name == "tensor") return tensor_type();
  if (name == "tuple") return tuple_type();
  if (name == "complex") {
    const DType part = tree_.at(type()).shape.dtype;
    return scalar_type(part == DType::kF32   ? DType::kC64
                       : part == DType::kF64 ? DType::kC128
                                             : DType::kInvalid);
  }
  if (name == "!quant.uniform") {
    const std::string_view storage = in_.word("a storage type");  // i8, u8, ui8, si4
    const std::string sign = storage.starts_with('u') ? "ui" : "i";
    const std::size_t digits = std::min(storage.find_first_of("123456789"), storage.size());
    Type quantised = scalar_type(scalar_dtype(sign + std::string(storage.substr(digits))));
    quantised.quantised = text;
    return quantised;
  }
  if (name != text) return {};
  if (text.ends_with(".token") && text.front() == '!') {
    Type token;
    token.kind = Type::Kind::kToken;
    token.shape = Shape::token();
    return token;
  }
  Type scalar = scalar_type(scalar_dtype(text));
  if (text == "none") scalar.kind = Type::Kind::kNone;
  return scalar;
}

// Reads after `tensor<`.
Type Reader::tensor_type() {
  Type tensor;
  if (in_.peek() == '*') return tensor;
  Dims dims;
  for (char c = in_.peek(); is_digit(c) || c == '?'; c = in_.peek()) {
    if (c == '?') in_.expect('?');
    dims.push_back(c == '?' ? kUnboundedSize : in_.integer());
    if (dims.size() > Shape::kMaxRank) in_.fail("a tensor of more than 32 dimensions");
    in_.expect('x');
  }
  tensor.element = type();
  const Type& element = tree_.at(tensor.element);
  if (in_.accept(',')) {
    in_.peek();
    const std::size_t begin = in_.offset();
    while (in_.peek() != '>') {
      if (in_.raw() == '\0') in_.fail_expecting("'>'");
      if (in_.raw() == '<') {
        in_.balanced();
      } else {
        in_.seek(in_.offset() + 1);
      }
    }
    tensor.encoding = base::trim(in_.text_from(begin));
  }
  in_.expect('>');
  if (element.kind != Type::Kind::kScalar) return tensor;
  tensor.kind = Type::Kind::kArray;
  tensor.shape = Shape::array(element.shape.dtype, std::move(dims));
  tensor.quantised = element.quantised;
  return tensor;
}

// Reads after `tuple<`.
Type Reader::tuple_type() {
  TypeList elements;
  if (in_.peek() != '>') type_list(elements);
  in_.expect('>');
  Type tuple;
  std::vector<Shape> shapes;
  std::size_t leaves = 0;
  for (const TypeId id : elements) {
    const Type& element = tree_.at(id);
    if (element.kind == Type::Kind::kOther || element.kind == Type::Kind::kFunction) return tuple;
    for_each_leaf(element.shape, [&leaves](const Shape&) { ++leaves; });
    if (leaves > kMaxTupleLeaves) in_.fail("a tuple of more than 65536 elements");
    shapes.push_back(element.shape);
  }
  tuple.kind = Type::Kind::kTuple;
  tuple.shape = Shape::tuple(std::move(shapes));
  return tuple;
}

void Reader::type_list(TypeList& types) {
  do {
    types.push_back(type());
  } while (in_.accept(','));
}

void Reader::parenthesised_types(TypeList& types) {
  in_.expect('(');
  if (in_.accept(')')) return;
  type_list(types);
  in_.expect(')');
}

void Reader::result_types(TypeList& types) {
  if (in_.peek() == '(') {
    parenthesised_types(types);
  } else {
    types.push_back(type());
  }
}

TypeId Reader::function_type() {
  const std::size_t begin = in_.offset();
  TypeList inputs, results;
  parenthesised_types(inputs);
  in_.expect("->");
  result_types(results);
  Type function;
  function.kind = Type::Kind::kFunction;
  function.inputs.assign(inputs.begin(), inputs.end());
  function.results.assign(results.begin(), results.end());
  function.text = in_.text_from(begin);
  return add_type(std::move(function));
}

}  // namespace tilecast::ir::mlir
