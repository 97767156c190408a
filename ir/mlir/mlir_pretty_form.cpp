// Table of pretty forms. Most are a list of items followed by types:
//
//   stablehlo.pad %0, %1, low = [0], high = [1], interior = [0] {attributes} : (t, u) -> v
//
// Each row of kForms maps the items of an op to attributes of its generic form, as
// `item=attribute:kind`. An item is a key (`low`), the n-th bare word (`0`), an opening bracket,
// `@` (a symbol), `"` (a string) or `$` (a constant's value). A kind is a row of kKinds; text after
// its dot is the argument. Sources: the assembly formats of StablehloOps.td, ChloOps.td and of the
// upstream dialects.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

// Reads an operation in a pretty form that is a list of items (the table below) followed by types.
class PrettyForm {
 public:
  PrettyForm(Reader& reader, Draft& draft, const Form& form)
      : reader_(reader),
        in_(reader.in_),
        draft_(draft),
        op_(draft.op),
        form_(form),
        item_end_(in_.offset_before_space()) {}

  void read();

 private:
  struct Item {
    std::string_view attribute;
    std::string_view kind;
    std::string_view argument;  // after the dot of the kind
  };
  using ReadKind = void (PrettyForm::*)(const Item& item);

  bool read_item();
  bool read_word(bool continues);
  [[nodiscard]] bool on_new_line() { return in_.text_from(item_end_).find('\n') != npos; }
  [[nodiscard]] const Item* find_item(std::string_view key);
  void read_kind(const Item& item);
  bool read_bracket(char sign);
  void more_attributes();  // {a = 1}
  void types();
  void types_without_arrow(const TypeList& written);
  void check_all(TypeId type, std::size_t first);
  TypeId value_type(const Attribute& value);
  [[nodiscard]] std::string dialect_name(std::string_view kind) const {
    return fmt::format("{}.{}", op_.name.substr(0, op_.name.find('.')), kind);
  }
  void add(const Item& item, Attribute value) {
    Reader::add(op_, item.attribute, std::move(value));
  }

  void ints(const Item& item) { add(item, Reader::list_attribute(reader_.integer_list())); }
  void i64(const Item& item) { add(item, reader_.integer_attribute(in_.integer(), "i64")); }
  void attr(const Item& item) { add(item, reader_.attribute()); }
  void name(const Item& item);
  void word(const Item& item);
  void string(const Item& item) { add(item, Reader::string_attribute(in_.quoted())); }
  void bracketed(const Item& item);
  void enumeration(const Item& item);
  void enumerations(const Item& item);
  void dims(const Item& item);
  void custom(const Item& item);
  void raw(const Item& item);
  void format(const Item& item);
  void ranges(const Item& item);
  void indices(const Item& item);
  void region(const Item& item);
  void keyword(const Item& item);
  void conv(const Item& item);
  void window(const Item& item);
  void window_field(std::string_view key);

  static constexpr std::size_t npos = std::string_view::npos;
  static const std::pair<std::string_view, ReadKind> kKinds[];

  Reader& reader_;
  Scanner& in_;
  Draft& draft_;
  Operation& op_;
  const Form& form_;
  Item item_;
  std::size_t item_end_;
  char words_ = '0';  // bare words so far
  bool after_comma_ = true;
};

constinit const Form FormTable::kForms[] = {
    // stablehlo, mhlo, chlo; unlisted ops have operands and one type
    {"broadcast", kSame, "sizes=broadcast_sizes:ints"},
    {"broadcast_in_dim", kSame, "dims=broadcast_dimensions:ints"},
    {"cholesky", kSame, "lower=lower:attr"},
    {"compare", kSame,
     "0=comparison_direction:enum.comparison_direction "
     "1=compare_type:enum.comparison_type"},
    {"complex", kResult},
    {"composite", kSame, "\"=name:string"},
    {"concatenate", kSame, "dim=dimension:i64"},
    {"constant", kSame, "$=value:attr"},
    {"convolution", kSame, "dim_numbers=dimension_numbers:conv window=:window"},
    {"custom_call", kSame, "@=call_target_name:name"},
    {"dot", kSame, "precision=precision_config:enums.precision"},
    {"dot_general", kSame,
     "batching_dims=batching:dims contracting_dims=contracting:dims "
     "precision=precision_config:enums.precision "
     "algorithm=algorithm:custom.dot_algorithm"},
    {"dynamic_broadcast_in_dim", kSame, "dims=broadcast_dimensions:ints"},
    {"dynamic_conv", kSame, "dim_numbers=dimension_numbers:conv window=:window"},
    {"dynamic_iota", kSame, "dim=iota_dimension:i64"},
    {"dynamic_slice", kSame, "sizes=slice_sizes:ints"},
    {"einsum", kSame, "config=einsum_config:attr"},
    {"fft", kSame, "type=fft_type:enum.fft_type length=fft_length:ints"},
    {"get_dimension_size", kSame, "dim=dimension:i64"},
    {"get_tuple_element", kSame, "[=index:bracketed"},
    {"iota", kSame, "dim=iota_dimension:i64"},
    {"optimization_barrier", kPairwise},
    {"pad", kSame,
     "low=edge_padding_low:ints high=edge_padding_high:ints "
     "interior=interior_padding:ints"},
    {"reduce_precision", kSame, "format=:format"},
    {"return", kReturn},
    {"reverse", kSame, "dims=dimensions:ints"},
    {"rng", kSame, "distribution=rng_distribution:enum.rng_distribution"},
    {"rng_bit_generator", kSame, "algorithm=rng_algorithm:enum.rng_algorithm"},
    {"scan", kSame, "0=:keyword dimension=dimension:i64 {=:region"},
    {"select", kSelect},
    {"set_dimension_size", kSame, "dim=dimension:i64"},
    {"slice", kSame, "[=:ranges"},
    {"top_k", kSame, "k=k:i64"},
    {"topk", kSame, "k=k:i64 largest=largest:attr"},
    {"trace", kNone, "\"=tag:string"},
    {"transpose", kSame, "dims=permutation:ints"},
    {"tuple", kResult},
    {"unary_einsum", kSame, "config=einsum_config:attr"},
    {"reduce", kSame, {}, &Reader::reduce_form},
    {"while", kSame, {}, &Reader::while_form},
    // other dialects
    {"builtin.module", kNone, {}, &Reader::module_form},
    {"func.func", kNone, {}, &Reader::function_form},
    {"func.call", kSame, "@=callee:symbol"},
    {"func.return", kReturn},
    {"arith.cmpf", kPredicate, "0=predicate:word"},
    {"arith.cmpi", kPredicate, "0=predicate:word"},
    {"arith.constant", kSame, "$=value:attr"},
    {"arith.select", kSelect},
    {"cf.br", kNone},
    {"cf.cond_br", kNone},
    {"check.expect_almost_eq", kNone},
    {"check.expect_almost_eq_const", kNone, "$=value:attr"},
    {"check.expect_close", kNone},
    {"check.expect_eq", kNone},
    {"check.expect_eq_const", kNone, "$=value:attr"},
    {"enzyme.autodiff", kSame, "@=fn:symbol"},
    {"enzyme.batch", kSame, "@=fn:symbol"},
    {"enzyme.fwddiff", kSame, "@=fn:symbol"},
    {"sdy.constant", kSame, "$=value:attr"},
    {"sdy.manual_computation", kSame, {}, &Reader::manual_computation_form},
    {"sdy.mesh", kNone, "@=sym_name:name <=mesh:raw.mesh"},
    {"sdy.named_computation", kSame, {}, &Reader::manual_computation_form},
    {"sdy.reshard", kSame, "<=sharding:raw.sharding"},
    {"sdy.return", kReturn},
    {"sdy.sharding_constraint", kSame, "<=sharding:raw.sharding"},
    {"shape.assuming", kSame, {}, &Reader::assuming_form},
    {"shape.assuming_yield", kReturn},
    {"shape.const_shape", kResult, "[=shape:ints"},
    {"shape.cstr_broadcastable", kWitness},
    {"shape.cstr_eq", kWitness},
    {"tensor.dim", kIndex},
    {"tensor.empty", kResult},
    {"tensor.extract", kElement, "[=:indices"},
    {"tensor.from_elements", kResult},
    {"tensor.splat", kResult},
    {"util.global", kNone, "@=sym_name:name $=initial_value:attr"},
    {"util.global.address", kResult, "@=global:symbol"},
    {"util.global.load", kResult, "@=global:symbol"},
    {"util.optimization_barrier", kPairwise},
    {"util.unfoldable_constant", kSame, "$=value:attr"},
};

const Form* find_form(std::string_view op_name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Form*> table;
    for (const Form& form : FormTable::kForms) table.emplace(form.name, &form);
    return table;
  }();
  static const Form plain{};
  const std::string_view dialect = op_name.substr(0, op_name.find('.'));
  const bool is_hlo = dialect == "stablehlo" || dialect == "mhlo" || dialect == "chlo";
  const auto form = by_name.find(is_hlo ? op_name.substr(dialect.size() + 1) : op_name);
  if (form != by_name.end()) return form->second;
  return is_hlo ? &plain : nullptr;
}

void Reader::read_items(Draft& draft, const Form& form) {
  PrettyForm(*this, draft, form).read();
}

void PrettyForm::read() {
  while (read_item()) item_end_ = in_.offset_before_space();
  if (in_.accept(':')) {
    types();
  } else if (form_.types == Form::Types::kNone) {
    return;
  } else if (const Attribute* value = op_.find("value"); value != nullptr) {
    draft_.results = {value_type(*value)};
  } else if (!draft_.names.empty()) {
    in_.fail_expecting(fmt::format("':' and the types of {}", op_.name));
  }
}

const PrettyForm::Item* PrettyForm::find_item(std::string_view key) {
  for (std::string_view rest = form_.items; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::size_t equal = entry.find('=', 1);
    if (entry.substr(0, equal) != key) continue;
    const std::size_t colon = entry.find(':', equal);
    const std::string_view kind = entry.substr(colon + 1);
    const std::size_t dot = std::min(kind.find('.'), kind.size());
    item_ = {entry.substr(equal + 1, colon - equal - 1), kind.substr(0, dot),
             dot < kind.size() ? kind.substr(dot + 1) : std::string_view{}};
    return &item_;
  }
  return nullptr;
}

// Returns false if no item follows.
bool PrettyForm::read_item() {
  const char first = in_.peek();
  const bool continues = after_comma_ || !on_new_line();
  after_comma_ = false;
  switch (first) {
    case ',':
    case '(':
      after_comma_ = true;
      [[fallthrough]];
    case ')':
    case '=':
      in_.expect(first);
      return true;
    case '%':
      if (continues) reader_.use(op_);
      return continues;
    case '^':
      if (continues) reader_.successor(op_);
      return continues;
    case '{':
      if (!read_bracket('{')) more_attributes();
      return true;
    case '<':
      if (in_.raw(1) == '{') {
        in_.expect('<');
        op_.attributes = reader_.dictionary();
        in_.expect('>');
        return true;
      }
      [[fallthrough]];
    case '[':
    case '@':
    case '"':
      return continues && read_bracket(first);
    default:
      if (first == '-' || first == '#' || is_digit(first)) return continues && read_bracket('$');
      return is_word_char(first) && read_word(continues);
  }
}

void PrettyForm::more_attributes() {
  std::vector<NamedAttribute> fields = reader_.dictionary();
  std::ranges::move(fields, std::back_inserter(op_.attributes));
}

bool PrettyForm::read_bracket(char sign) {
  const Item* item = find_item(std::string_view(&sign, 1));
  if (item != nullptr) read_kind(*item);
  return item != nullptr;
}

bool PrettyForm::read_word(bool continues) {
  const std::size_t begin = in_.offset();
  const std::string_view word = in_.word("an item");
  if (word == "attributes" && in_.peek() == '{') {
    more_attributes();
    return true;
  }
  if (word != "dense" && word != "array" && in_.accept('=')) {
    const Item own{word, "attr", {}};
    const Item* item = find_item(word);
    read_kind(item != nullptr ? *item : own);
    return true;
  }
  const std::size_t end = in_.offset();
  in_.seek(begin);
  if (!continues || word == "loc") return false;
  if (word == "dense" || word == "dense_resource" || word == "true" || word == "false" ||
      word == "sparse") {
    return read_bracket('$');
  }
  const Item* item = find_item(std::string_view(&words_, 1));
  ++words_;
  if (item != nullptr) {
    read_kind(*item);
  } else {
    in_.seek(end);
    Reader::add(op_, word, {});
  }
  return true;
}

TypeId PrettyForm::value_type(const Attribute& value) {
  if (value.kind == Attribute::Kind::kBool) return reader_.intern("i1");
  if (value.type.valid()) return value.type;
  in_.fail_at(value.offset, fmt::format("the value of {} has no type", op_.name));
}

void PrettyForm::check_all(TypeId type, std::size_t first) {
  for (std::size_t i = first; i < op_.operands.size(); ++i) reader_.check_operand(op_, i, type);
}

// Reads the types after the colon.
void PrettyForm::types() {
  if (in_.peek() == '(') {
    reader_.signature(draft_);
    return;
  }
  TypeList written;
  reader_.type_list(written);
  if (!in_.accept("->") && !in_.accept_word("to")) {
    types_without_arrow(written);
    return;
  }
  reader_.result_types(draft_.results);
  if (written.size() != op_.operands.size()) {
    in_.fail(fmt::format("{} types for the {} operands of {}", written.size(), op_.operands.size(),
                         op_.name));
  }
  for (std::size_t i = 0; i < written.size(); ++i) reader_.check_operand(op_, i, written[i]);
}

void PrettyForm::types_without_arrow(const TypeList& written) {
  using enum Form::Types;
  TypeList& results = draft_.results;
  switch (form_.types) {
    case kNone:
      return;
    case kReturn:
    case kPairwise:
      if (written.size() != op_.operands.size()) in_.fail("not one type for each operand");
      for (std::size_t i = 0; i < written.size(); ++i) reader_.check_operand(op_, i, written[i]);
      if (form_.types == kPairwise) results = written;
      return;
    case kSelect:
      if (op_.operands.size() != 3) in_.fail(fmt::format("{} takes three operands", op_.name));
      if (written.size() == 2) reader_.check_operand(op_, 0, written.front());
      check_all(written.back(), 1);
      results = {written.back()};
      return;
    case kPredicate:
      results = {reader_.intern("i1")};
      check_all(written.front(), 0);
      return;
    case kIndex:
      results = {reader_.intern("index")};
      return;
    case kWitness:
      results = {reader_.intern("!shape.witness")};
      return;
    case kElement:
      results = {reader_.tree_.at(written.front()).element};
      if (!results.front().valid()) in_.fail("expects a tensor type");
      return;
    case kSame:
      check_all(written.front(), 0);
      [[fallthrough]];
    case kResult:
      if (written.size() != 1) {
        in_.fail(fmt::format("{} types for the one result of {}", written.size(), op_.name));
      }
      results = written;
  }
}

// The kinds of items in pretty forms: how each is read and which attribute it becomes.

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
