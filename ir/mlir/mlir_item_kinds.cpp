// The kinds of items in pretty forms: how each is read and which attribute it becomes.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "ir/mlir/mlir_pretty_form.h"

namespace tilecast::ir::mlir {

constinit const std::pair<std::string_view, PrettyForm::ReadKind> PrettyForm::kKinds[] = {
    {"ints", &PrettyForm::ints},            // [1, 2]
    {"i64", &PrettyForm::i64},              // 7
    {"attr", &PrettyForm::attr},            // any attribute
    {"symbol", &PrettyForm::attr},          // @main
    {"name", &PrettyForm::name},            // @main, kept as a string
    {"word", &PrettyForm::word},            // slt
    {"string", &PrettyForm::string},        // "x"
    {"bracketed", &PrettyForm::bracketed},  // [7] : i32
    {"enum", &PrettyForm::enumeration},     // EQ: #stablehlo<argument EQ>
    {"enums", &PrettyForm::enumerations},   // [HIGH, HIGH]
    {"dims", &PrettyForm::dims},            // [0] x [1]: a pair of fields of dot_dimension_numbers
    {"custom", &PrettyForm::custom},        // <key = value>: #stablehlo.argument<...>
    {"raw", &PrettyForm::raw},              // a bracket: #sdy.argument<...>
    {"format", &PrettyForm::format},        // e5m10
    {"ranges", &PrettyForm::ranges},        // [0:2, 1:4:2]
    {"indices", &PrettyForm::indices},      // [%i, %j]
    {"region", &PrettyForm::region},        // {^bb0(...): ...}
    {"keyword", &PrettyForm::keyword},      // inits: no attribute
    {"conv", &PrettyForm::conv},            // [b, 0, f]x[0, i, o]->[b, 0, f]
    {"window", &PrettyForm::window},        // {stride = [2], pad = [[0, 0]]}
};

void PrettyForm::read_kind(const Item& item) {
  const auto kind =
      std::ranges::find(kKinds, item.kind, &std::pair<std::string_view, ReadKind>::first);
  TC_CHECK(kind != std::end(kKinds), item.kind);
  (this->*kind->second)(item);
}

void PrettyForm::name(const Item& item) {
  Attribute value = Reader::string_attribute({});
  value.string = reader_.symbol();
  add(item, std::move(value));
}

void PrettyForm::word(const Item& item) {
  Attribute value;
  value.kind = Attribute::Kind::kRaw;
  value.text = in_.word("a word");
  add(item, std::move(value));
}

void PrettyForm::bracketed(const Item& item) {
  in_.expect('[');
  add(item, reader_.integer_attribute(in_.integer(), "i32"));
  in_.expect(']');
}

void PrettyForm::enumeration(const Item& item) {
  add(item, Reader::enum_attribute(dialect_name(item.argument), in_.word("a word")));
}

void PrettyForm::enumerations(const Item& item) {
  Attribute list;
  list.kind = Attribute::Kind::kArray;
  in_.expect('[');
  while (in_.peek() != ']') {
    list.elements.push_back(
        Reader::enum_attribute(dialect_name(item.argument), in_.word("a word")));
    if (!in_.accept(',')) break;
  }
  in_.expect(']');
  add(item, std::move(list));
}

void PrettyForm::dims(const Item& item) {
  constexpr std::string_view kNumbers = "dot_dimension_numbers";
  if (op_.find(kNumbers) == nullptr) {
    Reader::add(op_, kNumbers, Reader::custom_attribute(dialect_name("dot"), {}));
  }
  const bool batching = item.attribute == "batching";
  const std::string_view names[] = {
      batching ? "lhs_batching_dimensions" : "lhs_contracting_dimensions",
      batching ? "rhs_batching_dimensions" : "rhs_contracting_dimensions"};
  for (const std::string_view side : names) {
    if (side == names[1]) in_.expect('x');
    Attribute list = Reader::list_attribute(reader_.integer_list());
    if (list.elements.empty()) continue;
    const auto numbers = std::ranges::find(op_.attributes, kNumbers, &NamedAttribute::name);
    numbers->value.fields.push_back({side, std::move(list)});
  }
}

void PrettyForm::custom(const Item& item) {
  Attribute value = Reader::custom_attribute(dialect_name(item.argument), {});
  in_.expect('<');
  value.fields = reader_.body_fields('>');
  in_.expect('>');
  add(item, std::move(value));
}

void PrettyForm::raw(const Item& item) {
  std::string_view body = in_.balanced();
  if (body.starts_with('<')) body = body.substr(1, body.size() - 2);
  add(item, Reader::custom_attribute(dialect_name(item.argument), body));
}

void PrettyForm::format(const Item& /*item*/) {
  const std::size_t begin = in_.offset();
  const std::string_view word = in_.word("a format like e5m10");
  const char* const end = word.data() + word.size();
  std::int32_t exponent = 0;
  std::int32_t mantissa = 0;
  const auto [middle, status] = std::from_chars(word.data() + 1, end, exponent);
  if (word.front() != 'e' || status != std::errc{} || middle == end || *middle != 'm' ||
      std::from_chars(middle + 1, end, mantissa).ptr != end || middle + 1 == end) {
    in_.fail_at(begin, "expects a format like e5m10");
  }
  Reader::add(op_, "exponent_bits", reader_.integer_attribute(exponent, "i32"));
  Reader::add(op_, "mantissa_bits", reader_.integer_attribute(mantissa, "i32"));
}

void PrettyForm::ranges(const Item& /*item*/) {
  std::array<std::vector<std::int64_t>, 3> values;  // start, limit, stride
  in_.expect('[');
  while (in_.peek() != ']') {
    values[0].push_back(in_.integer());
    in_.expect(':');
    values[1].push_back(in_.integer());
    values[2].push_back(in_.accept(':') ? in_.integer() : 1);
    if (!in_.accept(',')) break;
  }
  in_.expect(']');
  constexpr std::string_view kNames[] = {"start_indices", "limit_indices", "strides"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Reader::add(op_, kNames[i], Reader::list_attribute(values[i]));
  }
}

void PrettyForm::indices(const Item& /*item*/) {
  in_.expect('[');
  if (in_.peek() != ']') reader_.uses(op_);
  in_.expect(']');
}

void PrettyForm::region(const Item& /*item*/) {
  reader_.region(op_, {});
}

void PrettyForm::keyword(const Item& /*item*/) {
  in_.word("a keyword");
}

void PrettyForm::conv(const Item& item) {
  const std::size_t begin = in_.offset();
  in_.balanced();
  in_.expect('x');
  in_.balanced();
  in_.expect("->");
  in_.balanced();
  add(item, Reader::custom_attribute(dialect_name("conv"), in_.text_from(begin)));
}

void PrettyForm::window(const Item& /*item*/) {
  in_.expect('{');
  while (in_.peek() != '}') {
    const std::string_view key = in_.word("stride, pad, lhs_dilate, rhs_dilate or reverse");
    in_.expect('=');
    window_field(key);
    if (!in_.accept(',')) break;
  }
  in_.expect('}');
}

void PrettyForm::window_field(std::string_view key) {
  if (key == "pad") {
    Attribute padding;
    padding.kind = Attribute::Kind::kDense;
    padding.offset = in_.offset();
    padding.text = in_.balanced();
    const auto pairs = std::ranges::count(padding.text, '[') - 1;
    padding.type = reader_.intern(fmt::format("tensor<{}x2xi64>", std::max<long>(pairs, 0)));
    Reader::add(op_, "padding", std::move(padding));
  } else if (key == "reverse") {
    Reader::add(op_, "window_reversal", reader_.attribute());
  } else {
    constexpr std::pair<std::string_view, std::string_view> kFields[] = {
        {"stride", "window_strides"},
        {"lhs_dilate", "lhs_dilation"},
        {"rhs_dilate", "rhs_dilation"}};
    const auto field =
        std::ranges::find(kFields, key, &std::pair<std::string_view, std::string_view>::first);
    if (field == std::end(kFields)) in_.fail(fmt::format("a window has no '{}'", key));
    ints({field->second, {}, {}});
  }
}

}  // namespace tilecast::ir::mlir
