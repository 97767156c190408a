#include "ir/mlir/mlir_pretty_form.h"

#include <algorithm>

namespace tilecast::ir::mlir {

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

}  // namespace tilecast::ir::mlir
