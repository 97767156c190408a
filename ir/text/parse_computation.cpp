// Computations: at the top of a module, or written inline as the value of an attribute.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text/module_parser.h"

namespace tilecast::ir {
namespace {

// Estimates the number of instructions in the body from its lines, up to one that starts with `}`,
// to avoid growing large vectors step by step. Bounded, because it is only a guess.
std::size_t guess_instruction_count(std::string_view text, std::size_t body_begin) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  constexpr std::size_t kLeastLineBytes = 32;
  std::size_t lines = 0, end = body_begin;
  while ((end = std::min(text.find('\n', end), text.size())) < text.size() &&
         !text.substr(end + 1).starts_with('}')) {
    ++lines;
    ++end;
  }
  return std::min({lines, (end - body_begin) / kLeastLineBytes, kMost});
}

}  // namespace

Shape ModuleParser::shape() {
  Shape value = read_shape(cursor_);
  fill_default_layouts(value);
  return value;
}

void ModuleParser::read_signature(std::optional<Shape>& result) {
  if (!cursor_.at(Tok::kLeftParen)) return;
  cursor_.list(
      "the parameters",
      [this] {
        static_cast<void>(cursor_.name());
        cursor_.accept(Tok::kColon);
        static_cast<void>(read_shape(cursor_));
      },
      Tok::kLeftParen, Tok::kRightParen);
  cursor_.expect(Tok::kArrow, "expects '->' before the shape of the result");
  result = read_shape(cursor_);
}

void ModuleParser::read_body(Scope& scope) {
  if (scopes_.empty()) {
    const std::size_t count = guess_instruction_count(cursor_.text(), cursor_.token().begin);
    scope.computation.instructions.reserve(count);
    scope.names.reserve(count);
  }
  cursor_.expect(Tok::kLeftBrace, "expects '{' at the start of instruction list.");
  if (scopes_.empty()) cursor_.enter(scope.computation.name);
  scopes_.push_back(&scope);
  do {
    read_instruction(scope);
  } while (!cursor_.at(Tok::kRightBrace));
  scopes_.pop_back();
  if (scopes_.empty()) cursor_.enter({});
  cursor_.advance();
}

// `{%c}`: a computation's name in braces, which XLA's parser accepts, rather than a body.
bool ModuleParser::at_braced_name() const {
  Cursor probe = cursor_;
  probe.advance();
  return (probe.at(Tok::kName) || probe.at(Tok::kIdentifier)) && probe.peek_char() == '}';
}

void ModuleParser::read_computation() {
  Scope scope;
  const std::size_t entry_at = cursor_.token().begin;
  const bool entry = cursor_.at_keyword("ENTRY");
  if (entry) {
    cursor_.fail_if(module_.entry.valid(), "expects only one ENTRY");
    cursor_.advance();
  }
  scope.begin = cursor_.token().begin;
  scope.computation.name = cursor_.name();
  std::optional<Shape> result;
  read_signature(result);
  read_body(scope);
  if (cursor_.accept(Tok::kComma)) {
    cursor_.fail_if(!cursor_.at(Tok::kAttributeName) || cursor_.token().text != "execution_thread",
                    "expects execution_thread= after a computation");
    cursor_.advance();
    scope.computation.execution_thread = cursor_.string();
  }
  const ComputationId id = finish_computation(std::move(scope), result);
  if (!entry) return;
  cursor_.fail_at_if(module_.entry.valid(), entry_at, "expects only one ENTRY");
  module_.entry = id;
}

ComputationId ModuleParser::finish_computation(Scope&& scope, const std::optional<Shape>& result) {
  Computation& computation = scope.computation;
  computation.root = scope.root.valid() ? scope.root : InstrId(computation.instructions.size() - 1);
  number_parameters(scope);
  const Instruction& root = computation.root_instruction();
  if (result) {
    cursor_.fail_at_if(!compatible(root.shape, *result), root.offset,
                       "Shape of computation {}, {}, is not compatible with "
                       "that of its root instruction {}, {}",
                       computation.name, ShapeText{*result, false}, root.name,
                       ShapeText{root.shape, false});
  }
  return add_computation(std::move(computation), scope.begin);
}

void ModuleParser::number_parameters(Scope& scope) {
  Computation& computation = scope.computation;
  const std::vector<InstrId> found = std::exchange(computation.parameters, {});
  const std::size_t count = found.size();
  computation.parameters.assign(count, InstrId());
  for (const InstrId id : found) {
    const Instruction& instruction = computation.at(id);
    const auto number = static_cast<std::size_t>(instruction.as<ParameterAttrs>().number);
    cursor_.fail_at_if(number >= count || computation.parameters[number].valid(),
                       instruction.offset,
                       "parameters of {} must be numbered 0 to {}, each once; got {}",
                       computation.name, count - 1, number);
    computation.parameters[number] = id;
  }
}

ComputationId ModuleParser::add_computation(Computation&& computation, std::size_t offset) {
  const ComputationId id(module_.computations.size());
  cursor_.fail_at_if(!computations_.emplace(computation.name, id).second, offset,
                     "computation already exists: {}", computation.name);
  module_.computations.push_back(std::move(computation));
  return id;
}

ComputationId ModuleParser::find_computation(std::string_view name, std::size_t offset) const {
  const auto found = computations_.find(name);
  cursor_.fail_at_if(found == computations_.end(), offset, "computation does not exist: {}", name);
  return found->second;
}

std::string ModuleParser::unique_computation_name(const std::string& base) {
  int& count = computation_name_counts_[base];
  std::string candidate = base;
  while (computations_.contains(candidate)) candidate = fmt::format("{}.{}", base, ++count);
  return candidate;
}

ComputationId ModuleParser::computation_value() {
  const Nesting nesting(cursor_);
  const std::size_t begin = cursor_.token().begin;
  Scope scope;
  scope.begin = begin;
  std::optional<Shape> result;
  if (cursor_.at(Tok::kLeftBrace) && at_braced_name()) return computation_list().front();
  if (cursor_.at(Tok::kLeftBrace)) {
    read_body(scope);
    scope.computation.name = unique_computation_name("_");
    return finish_computation(std::move(scope), result);
  }
  const char after = cursor_.peek_char();
  const std::string_view name = cursor_.name();
  if (after != '{' && after != '(') return find_computation(name, begin);
  scope.computation.name = name;
  read_signature(result);
  read_body(scope);
  return finish_computation(std::move(scope), result);
}

std::vector<ComputationId> ModuleParser::computation_list() {
  std::vector<ComputationId> ids;
  cursor_.list("a list of computations", [&] { ids.push_back(computation_value()); });
  return ids;
}

std::vector<InstrId> ModuleParser::instruction_list() {
  std::vector<InstrId> ids;
  cursor_.list("a list of instruction names", [&] {
    const std::size_t begin = cursor_.token().begin;
    const std::string_view name = cursor_.name();
    ids.push_back(scopes_.back()->names.find(name));
    cursor_.fail_at_if(!ids.back().valid(), begin, "instruction '{}' is not defined", name);
  });
  return ids;
}

}  // namespace tilecast::ir
