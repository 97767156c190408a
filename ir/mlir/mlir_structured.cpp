// Forms with regions or names of their own: modules, functions, loops, reductions; and ops of
// unknown form.
#include <algorithm>

#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

void Reader::module_form(Draft& draft) {
  Operation& op = draft.op;
  if (in_.peek() == '@') {
    Attribute name = string_attribute({});
    name.string = symbol();
    add(op, "sym_name", std::move(name));
  }
  if (in_.accept_word("attributes")) {
    for (NamedAttribute& field : dictionary()) op.attributes.push_back(std::move(field));
  }
  isolated_region(op, {});
}

// `%a: t {attributes} loc(...)`; without the name in a declaration.
BlockArgument Reader::function_argument(std::vector<Attribute>& attributes) {
  BlockArgument argument;
  if (in_.peek() == '%') {
    argument.name = value_name();
    in_.expect(':');
  }
  argument.type = type();
  Attribute& fields = attributes.emplace_back();
  fields.kind = Attribute::Kind::kDict;
  if (in_.peek() == '{') fields.fields = dictionary();
  location();
  return argument;
}

void Reader::function_result(TypeList& results, std::vector<Attribute>& attributes) {
  if (in_.peek() != '(') {
    results.push_back(type());
    attributes.emplace_back().kind = Attribute::Kind::kDict;
    return;
  }
  in_.expect('(');
  while (in_.peek() != ')') {
    results.push_back(function_argument(attributes).type);
    if (!in_.accept(',')) break;
  }
  in_.expect(')');
}

void Reader::function_form(Draft& draft) {
  Operation& op = draft.op;
  const auto name = [&](std::string_view attribute, std::string_view text) {
    add(op, attribute, string_attribute(text));
  };
  for (const std::string_view visibility : {"public", "private", "nested"}) {
    if (in_.accept_word(visibility)) name("sym_visibility", visibility);
  }
  name("sym_name", {});
  op.attributes.back().value.string = symbol();
  Type function;
  function.kind = Type::Kind::kFunction;
  std::vector<BlockArgument> arguments;
  Attribute argument_attributes, result_attributes;
  in_.expect('(');
  while (in_.peek() != ')') {
    arguments.push_back(function_argument(argument_attributes.elements));
    function.inputs.push_back(arguments.back().type);
    if (!in_.accept(',')) break;
  }
  in_.expect(')');
  TypeList results;
  if (in_.accept("->")) function_result(results, result_attributes.elements);
  function.results.assign(results.begin(), results.end());
  Attribute signature;
  signature.kind = Attribute::Kind::kType;
  signature.type = add_type(std::move(function));
  add(op, "function_type", std::move(signature));
  for (auto& [attribute, list] :
       {std::pair<std::string_view, Attribute*>{"arg_attrs", &argument_attributes},
        {"res_attrs", &result_attributes}}) {
    list->kind = Attribute::Kind::kArray;
    const bool any =
        std::ranges::any_of(list->elements, [](const Attribute& a) { return !a.fields.empty(); });
    if (any) add(op, attribute, std::move(*list));
  }
  if (in_.accept_word("attributes")) {
    for (NamedAttribute& field : dictionary()) op.attributes.push_back(std::move(field));
  }
  if (in_.peek() == '{') {
    isolated_region(op, arguments);
  } else {
    op.regions.emplace_back();
  }
}

// (%i = %0, %j = %1) : t, u attributes {...} cond {...} do {...}
void Reader::while_form(Draft& draft) {
  Operation& op = draft.op;
  std::vector<BlockArgument> arguments;
  in_.expect('(');
  while (in_.peek() != ')') {
    arguments.push_back({value_name(), {}});
    in_.expect('=');
    use(op);
    if (!in_.accept(',')) break;
  }
  in_.expect(')');
  if (in_.accept(':')) type_list(draft.results);
  if (draft.results.size() != arguments.size()) in_.fail("not one type for each value");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    check_operand(op, i, draft.results[i]);
    arguments[i].type = draft.results[i];
  }
  if (in_.accept_word("attributes") || in_.peek() == '{') op.attributes = dictionary();
  in_.expect("cond");
  region(op, arguments);
  in_.expect("do");
  region(op, arguments);
}

// (%a init: %b), (%c init: %d) applies stablehlo.add across dimensions = [0] {...} : (...) -> t
// (%a init: %b) across dimensions = [0] {...} : (...) -> t reducer(%x: t, %y: t) {...}
void Reader::reduce_form(Draft& draft) {
  Operation& op = draft.op;
  Operation initial;
  do {
    in_.expect('(');
    use(op);
    in_.expect("init:");
    use(initial);
    in_.expect(')');
  } while (in_.accept(','));
  op.operands.insert(op.operands.end(), initial.operands.begin(), initial.operands.end());
  std::string_view applied;
  if (in_.accept_word("applies")) applied = in_.word("an operation");
  in_.expect("across");
  in_.expect("dimensions");
  in_.expect('=');
  add(op, "dimensions", list_attribute(integer_list()));
  if (in_.peek() == '{') {
    for (NamedAttribute& field : dictionary()) op.attributes.push_back(std::move(field));
  }
  in_.expect(':');
  signature(draft);
  if (!applied.empty()) {
    applied_region(op, applied);
    return;
  }
  in_.expect("reducer");
  region(op, reducer_arguments());
}

// Reads pairs of arguments, one pair per input; the block has all first arguments, then all second
// ones.
std::vector<BlockArgument> Reader::reducer_arguments() {
  std::vector<BlockArgument> left, right;
  while (in_.peek() == '(') {
    const std::size_t begin = in_.offset();
    std::vector<BlockArgument> pair = block_arguments();
    if (pair.size() != 2) in_.fail_at(begin, "expects a pair of arguments");
    left.push_back(pair[0]);
    right.push_back(pair[1]);
  }
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Creates the region for `applies op`: two arguments of the initial value's type, the op and a
// return.
void Reader::applied_region(Operation& reduce, std::string_view op_name) {
  if (reduce.operands.size() != 2) in_.fail("'applies' takes one input");
  const TypeId element = tree_.values[reduce.operands.back().index()].type;
  const TypeId types[] = {element, element};
  const auto unnamed = [&](std::uint32_t count) {
    return define({{}, count, reduce.offset}, types);
  };
  Block block;
  const ValueId left = unnamed(2);
  block.arguments = {left, ValueId(left.index() + 1)};
  Operation apply;
  apply.name = op_name;
  apply.operands.assign(block.arguments.begin(), block.arguments.end());
  apply.offset = reduce.offset;
  apply.first_result = unnamed(1);
  apply.result_count = 1;
  Operation result;
  result.name = op_name.starts_with("mhlo.") ? "mhlo.return" : "stablehlo.return";
  result.operands = {apply.first_result};
  result.first_result = ValueId(tree_.values.size());
  result.offset = reduce.offset;
  block.operations.push_back(std::move(apply));
  block.operations.push_back(std::move(result));
  reduce.regions.emplace_back().blocks.push_back(std::move(block));
}

// %witness -> (t, u) {...}
void Reader::assuming_form(Draft& draft) {
  use(draft.op);
  if (in_.accept("->")) result_types(draft.results);
  region(draft.op, {});
}

// <"name">(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} (%a: t) {...} : (t) -> u
void Reader::manual_computation_form(Draft& draft) {
  Operation& op = draft.op;
  if (in_.accept('<')) {
    add(op, "name", string_attribute(in_.quoted()));
    in_.expect('>');
  }
  in_.expect('(');
  if (in_.peek() != ')') uses(op);
  in_.expect(')');
  while (in_.peek() != '(') {
    const std::string_view key = in_.word("a sharding");
    in_.expect('=');
    const std::string_view body = in_.balanced();
    add(op, key,
        custom_attribute(key == "manual_axes" ? "sdy.manual_axes" : "sdy.sharding_per_value",
                         body));
  }
  region(op, block_arguments());
  if (in_.peek() == '{') {
    for (NamedAttribute& field : dictionary()) op.attributes.push_back(std::move(field));
  }
  in_.expect(':');
  signature(draft);
}

// Whether an op of unknown form continues on the line at the scanner: after a character that
// requires more text, or with text that cannot start an op.
bool Reader::foreign_goes_on(char last) {
  if (last != '\0' && std::string_view(":,=-").find(last) != std::string_view::npos) return true;
  const std::size_t line = in_.offset();
  const char first = in_.peek();
  std::string_view word;
  if (is_word_char(first) && !is_digit(first)) word = in_.word("a word");
  in_.seek(line);
  if (first == '\0') return false;
  if (word.empty()) return std::string_view("{([<:-,=").find(first) != std::string_view::npos;
  return word.find('.') == std::string_view::npos && word != "return" && word != "call" &&
         word != "func" && word != "module" && word != "constant";
}

// Reads an op of unknown form, up to the end of its line or of its brackets and types. Its operands
// are the values named outside braces (in parentheses only visible ones, since arguments of a
// region may be there). Its result types follow its last colon, else its last arrow.
void Reader::foreign_form(Draft& draft) {
  Operation& op = draft.op;
  std::size_t colon = 0;
  std::size_t arrow = 0;
  char last = '\0';
  for (int depth = 0;;) {
    const char c = in_.raw();
    const std::size_t begin = in_.offset();
    if (c == '\n' && depth == 0 && foreign_goes_on(last)) {
      in_.peek();
      continue;
    }
    const bool may_end = c == '\n' || c == '}' || c == ')' || in_.at("loc(") || in_.at("//");
    if (c == '\0' || (may_end && depth == 0)) break;
    if (c != ' ' && c != '\n') last = c;
    if (c == '"') {
      in_.quoted();
    } else if (c == '%' && is_word_char(in_.raw(1))) {
      const bool visible = names_.find(value_name().text).count > 0;
      if (visible || depth == 0) {
        in_.seek(begin);
        use(op);
      }
    } else if (c == '[' || c == '{' || c == '<') {
      in_.balanced();
    } else if (is_word_char(c)) {
      while (is_word_char(in_.raw())) in_.seek(in_.offset() + 1);
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0 && in_.at("->")) arrow = begin;
      in_.seek(begin + (c == '-' && in_.raw(1) == '>' ? 2 : 1));
      if (c == ':' && depth == 0 && (in_.raw() == ' ' || in_.raw() == '\n')) colon = in_.offset();
    }
  }
  if (draft.names.empty()) return;
  if (colon == 0 && arrow == 0) {
    in_.fail_at(op.offset, fmt::format("cannot tell the result types of {}", op.name));
  }
  in_.seek(colon != 0 ? colon : arrow);
  TypeList written;
  if (colon == 0) {
    in_.expect("->");
    result_types(draft.results);
    return;
  }
  if (in_.peek() == '(') {
    parenthesised_types(written);
  } else {
    type_list(written);
  }
  if (in_.accept("->") || in_.accept_word("to") || in_.accept_word("into")) {
    result_types(draft.results);
  } else {
    draft.results = written;
  }
}

}  // namespace tilecast::ir::mlir
