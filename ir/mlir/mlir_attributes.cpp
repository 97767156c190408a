// Types: `tensor<2x?xf32, #encoding>`, scalars, tuples, functions, tokens.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "ir/literal.h"
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

// Attributes: numbers, strings, lists, dictionaries, dense values, `#dialect.name<...>`.

namespace {

// Attributes like `#stablehlo.dot<...>` whose body is a list of `key = value`.
constexpr std::string_view kFieldBodies[] = {"dot",
                                             "gather",
                                             "scatter",
                                             "conv",
                                             "channel_handle",
                                             "ragged_dot",
                                             "dot_algorithm",
                                             "output_operand_alias",
                                             "result_accuracy",
                                             "replica_group_mesh_axes"};

bool has_fields(std::string_view name, std::string_view body) {
  const std::size_t dot = name.find('.');
  const std::string_view dialect = name.substr(0, dot);
  if (dialect != "stablehlo" && dialect != "mhlo" && dialect != "chlo") return false;
  if (body.find('=') == std::string_view::npos) return false;
  return std::ranges::find(kFieldBodies, name.substr(dot + 1)) != std::end(kFieldBodies);
}

bool is_bare_word(std::string_view body) {
  return !body.empty() && !is_digit(body.front()) && std::ranges::all_of(body, is_word_char);
}

}  // namespace

Attribute Reader::integer_attribute(std::int64_t value, std::string_view type) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kInteger;
  attribute.integer = value;
  attribute.type = intern(std::string(type));
  return attribute;
}

Attribute Reader::string_attribute(std::string_view text) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kString;
  attribute.string = unescape_mlir(text);
  attribute.text = text;
  return attribute;
}

Attribute Reader::list_attribute(const std::vector<std::int64_t>& values) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kArray;
  attribute.elements.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    attribute.elements[i].kind = Attribute::Kind::kInteger;
    attribute.elements[i].integer = values[i];
  }
  return attribute;
}

Attribute Reader::custom_attribute(std::string name, std::string_view body) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kCustom;
  attribute.string = std::move(name);
  attribute.text = base::trim(body, " \t\n\r");
  return attribute;
}

Attribute Reader::enum_attribute(std::string name, std::string_view word) {
  Attribute attribute = custom_attribute(std::move(name), word);
  attribute.elements.resize(1);
  attribute.elements[0].kind = Attribute::Kind::kRaw;
  attribute.elements[0].text = attribute.text;
  return attribute;
}

Attribute Reader::attribute() {
  const Nesting level(*this);
  const char first = in_.peek();
  const std::size_t begin = in_.offset();
  Attribute attribute;
  switch (first) {
    case '"':
      attribute = string_attribute(in_.quoted());
      break;
    case '@':
      attribute.kind = Attribute::Kind::kSymbol;
      attribute.string = symbol();
      break;
    case '[':
      attribute = array_attribute();
      break;
    case '{':
      attribute.kind = Attribute::Kind::kDict;
      attribute.fields = dictionary();
      break;
    case '#':
      attribute = hash_attribute();
      break;
    default:
      if (first == '-' || is_digit(first)) {
        attribute = number();
      } else {
        attribute = word_attribute();
      }
  }
  using enum Attribute::Kind;
  if (attribute.kind != kDense && attribute.kind != kCustom) attribute.text = in_.text_from(begin);
  attribute.offset = begin;
  return attribute;
}

Attribute Reader::array_attribute() {
  Attribute array;
  array.kind = Attribute::Kind::kArray;
  in_.expect('[');
  if (in_.accept(']')) return array;
  do {
    array.elements.push_back(attribute());
  } while (in_.accept(','));
  in_.expect(']');
  return array;
}

std::vector<NamedAttribute> Reader::dictionary() {
  std::vector<NamedAttribute> fields;
  in_.expect('{');
  if (in_.accept('}')) return fields;
  do {
    const bool is_quoted = in_.peek() == '"';
    const std::string_view name = is_quoted ? in_.quoted() : in_.word("an attribute name");
    fields.push_back({name, in_.accept('=') ? attribute() : Attribute{}});
  } while (in_.accept(','));
  in_.expect('}');
  return fields;
}

std::string Reader::symbol() {
  std::string path;
  do {
    in_.expect('@');
    if (!path.empty()) path += "::";
    path += in_.raw() == '"' ? unescape_mlir(in_.quoted()) : std::string(in_.suffix_id());
  } while (in_.raw() == ':' && in_.raw(1) == ':' && in_.accept("::"));
  return path;
}

// An integer or a float, which may be hexadecimal, with its type if written.
Attribute Reader::number() {
  const std::size_t begin = in_.offset();
  if (in_.raw() == '-') in_.seek(begin + 1);
  const std::size_t digits = in_.offset();
  const bool is_hex = in_.raw() == '0' && in_.raw(1) == 'x' && hex_digit(in_.raw(2)) >= 0;
  bool is_float = false;
  if (is_hex) in_.seek(digits + 2);
  while (is_word_char(in_.raw()) ||
         (!is_hex && (in_.raw() == '+' || in_.raw() == '-') && is_float)) {
    const char c = in_.raw();
    is_float = is_float || (!is_hex && (c == '.' || c == 'e' || c == 'E'));
    in_.seek(in_.offset() + 1);
  }
  const std::string_view text = in_.text_from(is_hex ? digits + 2 : begin);
  Attribute value;
  const std::size_t end_of_number = in_.offset();
  if (in_.accept(':')) {
    const bool of_the_operation = in_.accept_word("tensor");  // numbers are scalars
    if (of_the_operation) in_.seek(end_of_number);
    if (!of_the_operation) value.type = type();
  }
  const char* const end = text.data() + text.size();
  std::uint64_t magnitude = 0;
  std::from_chars_result result{};
  if (is_float) {
    value.kind = Attribute::Kind::kFloat;
    result = std::from_chars(text.data(), end, value.number);
  } else if (is_hex) {
    result = std::from_chars(text.data(), end, magnitude, 16);
    value.kind = Attribute::Kind::kInteger;
    value.integer =
        static_cast<std::int64_t>(in_.text_from(begin).front() == '-' ? 0 - magnitude : magnitude);
    if (value.type.valid() && is_floating(tree_.at(value.type).shape.dtype)) {
      value.kind = Attribute::Kind::kFloat;
      value.number = from_bits(magnitude, tree_.at(value.type).shape.dtype);
      value.integer = 0;
    }
  } else {
    value.kind = Attribute::Kind::kInteger;
    result = std::from_chars(text.data(), end, value.integer);
    if (result.ec == std::errc::result_out_of_range && text.front() != '-') {
      result = std::from_chars(text.data(), end, magnitude);
      value.integer = static_cast<std::int64_t>(magnitude);
    }
  }
  if (result.ec != std::errc{} || result.ptr != end) in_.fail_at(begin, "not a number");
  return value;
}

Attribute Reader::word_attribute() {
  using enum Attribute::Kind;
  Attribute value;
  if (in_.peek() == '(' || in_.peek() == '!') {
    value.kind = kType;
    value.type = type();
  } else if (in_.accept_word("true") || in_.accept_word("false")) {
    value.kind = kBool;
    value.integer = in_.text_from(in_.offset() - 4) == "true" ? 1 : 0;
  } else if (in_.accept_word("unit")) {
    value.kind = kUnit;
  } else if (in_.accept("dense<") || in_.accept("dense_resource<")) {
    value = dense_attribute();
  } else if (in_.accept("array<")) {
    value.kind = kArray;
    value.type = type();
    if (in_.accept(':')) {
      do {
        value.elements.push_back(attribute());
        value.elements.back().text = {};
      } while (in_.accept(','));
    }
    in_.expect('>');
  } else if (in_.accept_word("affine_map") || in_.accept_word("affine_set") ||
             in_.accept_word("strided") || in_.accept_word("sparse") || in_.accept_word("opaque") ||
             in_.accept_word("distinct") || in_.accept_word("loc")) {
    value.kind = kRaw;
    in_.balanced();
    if (in_.peek() == '<') in_.balanced();
    if (in_.accept(':')) value.type = type();
  } else {
    if (!is_word_char(in_.peek())) in_.fail_expecting("an attribute");
    value.kind = kType;
    value.type = type();
  }
  return value;
}

// Reads after `dense<` or `dense_resource<`. The contents are not interpreted.
Attribute Reader::dense_attribute() {
  Attribute dense;
  dense.kind = Attribute::Kind::kDense;
  const std::size_t begin = in_.offset();
  in_.seek(begin - 1);
  const std::string_view body = in_.balanced();
  dense.text = base::trim(body.substr(1, body.size() - 2), " \t\n\r");
  in_.expect(':');
  dense.type = type();
  return dense;
}

std::size_t Reader::enter_alias(std::string_view name) {
  const auto alias = aliases_.find(name);
  if (alias == aliases_.end()) in_.fail_at(in_.offset() - name.size(), "no such alias");
  const std::size_t resume = in_.offset();
  in_.seek(alias->second);
  return resume;
}

void Reader::leave_alias(std::string_view name, std::size_t resume) {
  constexpr std::size_t kLeastExpansion = std::size_t{4} << 20;
  alias_bytes_ += in_.offset() - aliases_.at(name);
  if (alias_bytes_ > kLeastExpansion + 4 * source_.text().size()) {
    in_.fail_at(resume, "aliases stand for too much text");
  }
  in_.seek(resume);
}

// `#alias`, `#dialect.name`, `#dialect.name<body>` or `#dialect<name body>`.
Attribute Reader::hash_attribute() {
  const std::size_t begin = in_.offset();
  in_.seek(begin + 1);
  std::string name(in_.suffix_id());
  const bool has_dot = name.find('.') != std::string::npos;
  if (in_.raw() != '<') {
    if (has_dot) return custom_attribute(std::move(name), {});
    return at_alias(in_.text_from(begin), [this] { return attribute(); });
  }
  std::string_view body = in_.balanced();
  body = base::trim(body.substr(1, body.size() - 2), " \t\n\r");
  if (!has_dot) {
    const std::size_t size =
        static_cast<std::size_t>(std::ranges::find_if_not(body, is_word_char) - body.begin());
    name += '.';
    name += body.substr(0, size);
    body.remove_prefix(size);
    if (body.starts_with('<') && body.ends_with('>')) body = body.substr(1, body.size() - 2);
  }
  Attribute custom = custom_attribute(std::move(name), body);
  read_body(custom, custom.text);
  return custom;
}

void Reader::read_body(Attribute& custom, std::string_view body) {
  if (is_bare_word(body)) {
    custom = enum_attribute(std::move(custom.string), body);
  } else if (has_fields(custom.string, body)) {
    const std::size_t resume = in_.offset();
    in_.seek(static_cast<std::size_t>(body.data() - source_.text().data()));
    in_.accept_word("raw");
    custom.fields = body_fields('>');
    in_.seek(resume);
  }
}

// `key = value, ...` up to a closing bracket, which is not consumed.
std::vector<NamedAttribute> Reader::body_fields(char close) {
  std::vector<NamedAttribute> fields;
  while (in_.peek() != close) {
    const std::string_view name = in_.word("a field");
    in_.expect('=');
    fields.push_back({name, body_value()});
    if (!in_.accept(',')) break;
  }
  if (in_.peek() != close) in_.fail_expecting(fmt::format("'{}'", close));
  return fields;
}

// A value in such a body: without types, words bare.
Attribute Reader::body_value() {
  const std::size_t begin = in_.offset();
  if (in_.peek() == '#' || in_.peek() == '[' || in_.peek() == '@' || in_.peek() == '-' ||
      is_digit(in_.peek()) || in_.accept_word("true") || in_.accept_word("false")) {
    in_.seek(begin);
    return attribute();
  }
  Attribute word;
  word.kind = Attribute::Kind::kRaw;
  word.text = in_.word("a value");
  return word;
}

std::vector<std::int64_t> Reader::integer_list() {
  std::vector<std::int64_t> values;
  in_.expect('[');
  if (in_.accept(']')) return values;
  do {
    values.push_back(in_.integer());
  } while (in_.accept(','));
  in_.expect(']');
  return values;
}

}  // namespace tilecast::ir::mlir
