#include "ir/mlir/mlir_parser.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

Reader::Reader(const base::SourceText& source) : source_(source), in_(source) {}

// Finds the alias definitions, `#name = ...` and `!name = ...` at the beginning of a line; they may
// follow their uses. Each part of a file between `// -----` lines has its own aliases.
void Reader::find_aliases() {
  constexpr std::string_view kDivider = "// -----";
  const std::string_view all = source_.text();
  std::erase_if(type_ids_, [this](const auto& type) { return aliases_.contains(type.first); });
  aliases_.clear();
  Scanner line(source_);
  std::size_t at = part_end_;
  const auto next_line = [&] { return std::min(all.find('\n', at), all.size() - 1) + 1; };
  for (bool first = true; at < all.size(); at = next_line(), first = false) {
    if (!first && all.substr(at, kDivider.size()) == kDivider) break;
    if (all[at] == '#' || all[at] == '!') find_alias(line, at);
  }
  part_end_ = at;
}

void Reader::find_alias(Scanner& line, std::size_t begin) {
  line.seek(begin + 1);
  if (!is_word_char(line.raw())) return;
  line.suffix_id();
  const std::string_view name = line.text_from(begin);
  if (!line.accept('=')) return;
  line.peek();
  if (!aliases_.emplace(name, line.offset()).second) {
    line.fail_at(begin, "an alias is defined twice");
  }
  if (name.front() != '#' || !line.accept("loc(")) return;
  line.seek(line.offset() - 1);
  const std::string_view whole = line.balanced();
  tree_.locations.insert_or_assign(name, whole.substr(1, whole.size() - 2));
}

// Whether the text after a module is another operation rather than, say, a log line.
bool Reader::starts_operation() {
  const bool is_generic = in_.peek() == '"';
  const std::size_t begin = in_.offset();
  const bool is_pretty = in_.accept_word("module") || in_.accept_word("builtin.module") ||
                         in_.accept_word("func.func");
  in_.seek(begin);
  return is_generic || is_pretty;
}

// Reads everything in the file: modules, functions, aliases, resources.
void Reader::top_level(Block& block) {
  for (char c = in_.peek(); c != '\0'; c = in_.peek()) {
    while (in_.offset() >= part_end_) find_aliases();
    if (c == '#' || c == '!') {
      const std::size_t begin = in_.offset();
      in_.seek(begin + 1);
      in_.suffix_id();
      in_.expect('=');
      if (c == '!') {
        type();
      } else {
        attribute();
      }
    } else if (in_.accept("{-#")) {
      const std::size_t close = source_.text().find("#-}", in_.offset());
      if (close == std::string_view::npos) in_.fail("a resource section is not closed");
      in_.seek(close + 3);
    } else if (!block.operations.empty() && block.operations.back().name == "builtin.module" &&
               !starts_operation()) {
      tree_.warnings.push_back(
          source_.describe(in_.offset(), "text after the module is ignored", "warning"));
      return;
    } else {
      operation(block);
    }
  }
  if (in_.offset() < source_.text().size()) in_.fail("a zero byte");
}

Tree Reader::read() {
  Block block;
  top_level(block);
  if (block.operations.empty()) in_.fail_expecting("a module");
  if (block.operations.size() == 1 && block.operations.front().name == "builtin.module") {
    tree_.module = std::move(block.operations.front());
  } else {
    tree_.module.name = "builtin.module";
    tree_.module.regions.resize(1);
    tree_.module.regions[0].blocks.push_back(std::move(block));
  }
  return std::move(tree_);
}

Tree parse_mlir(const base::SourceText& text) {
  return Reader(text).read();
}

// Operations: results, the generic form, values and their scopes, regions, locations.

namespace {

constexpr std::size_t kMaxOperations = std::size_t{4} << 20;
constexpr std::uint32_t kMaxResults = 1U << 20;

// Ops whose regions cannot use values from outside.
bool is_isolated(std::string_view op_name) {
  return op_name == "func.func" || op_name == "builtin.module";
}

const Attribute* find_attribute(const std::vector<NamedAttribute>& fields, std::string_view name) {
  const auto field = std::ranges::find(fields, name, &NamedAttribute::name);
  return field == fields.end() ? nullptr : &field->value;
}

}  // namespace

const Attribute* Attribute::find(std::string_view name) const {
  return find_attribute(fields, name);
}

const Attribute* Operation::find(std::string_view attribute) const {
  return find_attribute(attributes, attribute);
}

void Reader::operation(Block& block) {
  Draft draft(block.operations.emplace_back());
  if (in_.peek() == '%') {
    do {
      draft.names.push_back(value_name());
      if (!in_.accept(':')) continue;
      const std::int64_t count = in_.integer();
      if (count < 1 || count > kMaxResults) in_.fail("a strange number of results");
      draft.names.back().count = static_cast<std::uint32_t>(count);
    } while (in_.accept(','));
    in_.expect('=');
  }
  const char first = in_.peek();
  draft.op.offset = in_.offset();
  if (++operations_ > kMaxOperations) in_.fail("more than 4 M operations");
  if (first == '"') {
    generic(draft);
  } else {
    pretty(draft);
  }
  finish(draft);
}

void Reader::generic(Draft& draft) {
  Operation& op = draft.op;
  op.name = in_.quoted();
  in_.expect('(');
  if (in_.peek() != ')') uses(op);
  in_.expect(')');
  if (in_.accept('[')) {
    do {
      successor(op);
    } while (in_.accept(','));
    in_.expect(']');
  }
  if (in_.accept('<')) {
    op.attributes = dictionary();
    in_.expect('>');
  }
  if (in_.accept('(')) {
    do {
      if (is_isolated(op.name)) {
        isolated_region(op, {});
      } else {
        region(op, {});
      }
    } while (in_.accept(','));
    in_.expect(')');
  }
  if (in_.peek() == '{') {
    std::vector<NamedAttribute> rest = dictionary();
    std::ranges::move(rest, std::back_inserter(op.attributes));
  }
  in_.expect(':');
  signature(draft);
}

void Reader::pretty(Draft& draft) {
  const std::string_view word = in_.word("an operation");
  constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
      {"module", "builtin.module"}, {"func", "func.func"},          {"call", "func.call"},
      {"return", "func.return"},    {"constant", "arith.constant"}, {"util.func", "func.func"},
      {"util.call", "func.call"},   {"util.return", "func.return"}};
  const auto spelling =
      std::ranges::find(kSpellings, word, &std::pair<std::string_view, std::string_view>::first);
  draft.op.name = spelling != std::end(kSpellings) ? spelling->second : word;
  if (draft.op.name.find('.') == std::string_view::npos) {
    in_.fail_at(draft.op.offset, fmt::format("'{}' is no operation", word));
  }
  const Form* form = find_form(draft.op.name);
  if (form == nullptr) {
    foreign_form(draft);
  } else if (form->read != nullptr) {
    (this->*form->read)(draft);
  } else {
    read_items(draft, *form);
  }
}

void Reader::finish(Draft& draft) {
  Operation& op = draft.op;
  op.location = location();
  check_attributes(op);
  std::size_t named = 0;
  for (const Draft::Name& name : draft.names) named += name.count;
  if (!draft.names.empty() && named != draft.results.size()) {
    in_.fail_at(draft.names.front().offset, fmt::format("{} names for the {} results of {}", named,
                                                        draft.results.size(), op.name));
  }
  op.first_result = ValueId(tree_.values.size());
  op.result_count = static_cast<std::uint32_t>(draft.results.size());
  const TypeId* types = draft.results.data();
  for (const Draft::Name& name : draft.names) {
    define(name, types);
    types += name.count;
  }
  if (draft.names.empty()) define({{}, op.result_count, op.offset}, types);
}

void Reader::check_attributes(const Operation& op) {
  if (op.attributes.size() < 2) return;
  boost::container::small_vector<std::string_view, 8> names;
  for (const NamedAttribute& attribute : op.attributes) names.push_back(attribute.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    in_.fail_at(op.offset, fmt::format("attribute {} is written twice", *twice));
  }
}

Draft::Name Reader::value_name() {
  in_.expect('%');
  const std::size_t offset = in_.offset() - 1;
  return {in_.suffix_id(), 1, offset};
}

ValueId Reader::define(const Draft::Name& name, const TypeId* types) {
  const ValueId first(tree_.values.size());
  for (std::uint32_t i = 0; i < name.count; ++i) {
    tree_.values.push_back({types[i], name.text, name.offset});
  }
  if (!name.text.empty() && !names_.define(name.text, {first, name.count})) {
    in_.fail_at(name.offset, fmt::format("%{} is defined already", name.text));
  }
  return first;
}

void Reader::use(Operation& op) {
  const Draft::Name name = value_name();
  const ValueNames::Definition known = names_.find(name.text);
  if (known.count == 0) {
    in_.fail_at(name.offset, fmt::format("%{} is used before it is defined", name.text));
  }
  std::int64_t which = 0;
  if (in_.raw() == '#' && is_digit(in_.raw(1))) {
    in_.expect('#');
    which = in_.integer();
  }
  if (which >= known.count) {
    in_.fail_at(name.offset, fmt::format("%{} has {} results", name.text, known.count));
  }
  op.operands.push_back(ValueId(known.first.index() + static_cast<std::size_t>(which)));
}

void Reader::uses(Operation& op) {
  do {
    use(op);
  } while (in_.accept(','));
}

void Reader::successor(Operation& op) {
  in_.expect('^');
  in_.suffix_id();
  if (!in_.accept('(')) return;
  const std::size_t first = op.operands.size();
  uses(op);
  in_.expect(':');
  TypeList types;
  type_list(types);
  in_.expect(')');
  if (types.size() != op.operands.size() - first) in_.fail("not one type for each value");
  for (std::size_t i = 0; i < types.size(); ++i) check_operand(op, first + i, types[i]);
}

void Reader::check_operand(const Operation& op, std::size_t operand, TypeId written) {
  const Value& value = tree_.values[op.operands[operand].index()];
  if (value.type == written) return;
  const Type& has = tree_.at(value.type);
  const Type& wants = tree_.at(written);
  if (has.kind == wants.kind && has.shape == wants.shape && has.quantised == wants.quantised &&
      (has.kind == Type::Kind::kArray || has.kind == Type::Kind::kTuple)) {
    return;  // same type, another spelling
  }
  in_.fail_at(op.offset, fmt::format("operand {} of {} has type {}, not {}", operand, op.name,
                                     has.text, wants.text));
}

void Reader::signature(Draft& draft) {
  const Operation& op = draft.op;
  TypeList types;
  in_.peek();
  const std::size_t begin = in_.offset();
  parenthesised_types(types);
  in_.expect("->");
  result_types(draft.results);
  if (types.size() != op.operands.size()) {
    in_.fail_at(begin, fmt::format("{} types for the {} operands of {}", types.size(),
                                   op.operands.size(), op.name));
  }
  for (std::size_t i = 0; i < types.size(); ++i) check_operand(op, i, types[i]);
}

std::string_view Reader::location() {
  if (in_.peek() != 'l' || !in_.accept("loc(")) return {};
  in_.seek(in_.offset() - 1);
  const std::string_view whole = in_.balanced();
  const std::string_view inside = whole.substr(1, whole.size() - 2);
  if (!inside.starts_with('#')) return inside;
  const auto alias = tree_.locations.find(inside);
  return alias == tree_.locations.end() ? inside : alias->second;
}

BlockArgument Reader::block_argument() {
  BlockArgument argument{value_name(), {}};
  in_.expect(':');
  argument.type = type();
  location();
  return argument;
}

std::vector<BlockArgument> Reader::block_arguments() {
  std::vector<BlockArgument> arguments;
  in_.expect('(');
  if (in_.accept(')')) return arguments;
  do {
    arguments.push_back(block_argument());
  } while (in_.accept(','));
  in_.expect(')');
  return arguments;
}

// `^bb0(%a: t, %b: u):`
void Reader::block_label(Block& block) {
  in_.expect('^');
  in_.suffix_id();
  if (in_.peek() == '(') {
    for (const BlockArgument& argument : block_arguments()) {
      block.arguments.push_back(define(argument.name, &argument.type));
    }
  }
  in_.expect(':');
}

void Reader::region(Operation& op, const std::vector<BlockArgument>& arguments) {
  const Nesting level(*this);
  in_.expect('{');
  const std::size_t mark = names_.mark();
  Region region;
  bool has_label = in_.peek() == '^' && arguments.empty();
  while (in_.peek() != '}' || (region.blocks.empty() && !arguments.empty())) {
    Block& block = region.blocks.emplace_back();
    if (has_label) block_label(block);
    if (region.blocks.size() == 1) {
      for (const BlockArgument& argument : arguments) {
        block.arguments.push_back(define(argument.name, &argument.type));
      }
    }
    while (in_.peek() != '}' && in_.peek() != '^') {
      if (in_.peek() == '\0') in_.fail_at(op.offset, fmt::format("{} is not closed", op.name));
      operation(block);
    }
    has_label = true;
  }
  in_.expect('}');
  names_.release(mark);
  op.regions.push_back(std::move(region));
}

void Reader::isolated_region(Operation& op, const std::vector<BlockArgument>& arguments) {
  ValueNames outside = std::exchange(names_, {});
  region(op, arguments);
  names_ = std::move(outside);
  if (op.name == "builtin.module" && op.regions.back().blocks.empty()) {
    op.regions.back().blocks.emplace_back();
  }
}

}  // namespace tilecast::ir::mlir
