// Instructions: `name = shape opcode(operands), attributes`.
#include <fmt/format.h>

#include <boost/container/small_vector.hpp>
#include <climits>

#include "base/error.h"
#include "ir/infer/shape_inference.h"
#include "ir/ops/op_row.h"
#include "ir/text/module_parser.h"

namespace tilecast::ir {
namespace {

constexpr std::size_t kMostInstructions = std::size_t{4} << 20;

}  // namespace

void ModuleParser::read_instruction(Scope& scope) {
  const bool root = cursor_.at_keyword("ROOT");
  if (root) {
    cursor_.fail_if(scope.root.valid(), "one computation should have only one ROOT");
    cursor_.advance();
  }
  const std::size_t offset = cursor_.token().begin;
  const std::string_view name = cursor_.name();
  cursor_.expect(Tok::kEqual, "expects '=' in instruction");
  const InstrId id = read_rhs(scope, name, offset, /*with_attributes=*/true);
  if (root) scope.root = id;
}

InstrId ModuleParser::read_rhs(Scope& scope, std::string_view name, std::size_t offset,
                               bool with_attributes) {
  const Nesting nesting(cursor_);
  Instruction instruction;
  instruction.offset = offset;
  const bool has_shape = at_shape(cursor_);
  if (has_shape) instruction.shape = shape();
  const std::size_t opcode_at = cursor_.token().begin;
  const OpcodeText opcode = read_opcode();
  instruction.opcode = opcode.opcode;
  instruction.attrs = attributes_of(opcode.opcode);
  cursor_.fail_at_if(!has_shape && opcode.opcode == Opcode::kConstant, opcode_at,
                     "the shape of a constant cannot be left out");
  cursor_.fail_at_if(opcode.opcode == Opcode::kInfeed && has_shape &&
                         (!instruction.shape.is_tuple() || instruction.shape.elements.empty()),
                     opcode_at, "infeed must have a non-empty tuple shape, but got {}",
                     ShapeText{instruction.shape});
  read_parenthesised(scope, instruction);
  check_operand_count(instruction, opcode_at);
  const AttributeForm form{with_attributes, opcode.wrapped.has_value()};
  check_async_shape(scope, instruction, opcode_at);
  if (opcode.wrapped && starts_asynchronously(opcode.opcode)) {
    Instruction inner = wrapped_instruction(scope, instruction, *opcode.wrapped);
    check_operand_count(inner, opcode_at);
    read_attributes(instruction, &inner, form);
    add_wrapped_computation(instruction, std::move(inner), scope, opcode_at);
  } else {
    read_attributes(instruction, nullptr, form);
  }
  finish_async(scope, instruction, opcode, opcode_at);
  if (!has_shape) infer(scope, instruction, opcode_at);
  return add_instruction(scope, std::move(instruction), name, offset);
}

ModuleParser::OpcodeText ModuleParser::read_opcode() {
  cursor_.fail_if(!cursor_.at(Tok::kIdentifier), "expects opcode");
  const auto [begin, text] = std::pair(cursor_.token().begin, cursor_.token().text);
  cursor_.advance();
  if (const std::optional<Opcode> opcode = parse_opcode(text)) return {*opcode, std::nullopt};
  for (const Opcode async : {Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone}) {
    const std::string_view suffix = name(async).substr(std::string_view("async").size());
    if (!text.ends_with(suffix)) continue;
    const auto wrapped = parse_opcode(text.substr(0, text.size() - suffix.size()));
    if (wrapped) return {async, wrapped};
  }
  cursor_.fail_at(begin, "expects opcode but sees: {}", text);
}

void ModuleParser::read_parenthesised(Scope& scope, Instruction& instruction) {
  if (instruction.opcode == Opcode::kParameter) {
    cursor_.expect(Tok::kLeftParen, "expects '(' before parameter number");
    instruction.attrs.edit<ParameterAttrs>().number = cursor_.integer_from(0, "parameter number");
    cursor_.expect(Tok::kRightParen, "expects ')' after parameter number");
  } else if (instruction.opcode == Opcode::kConstant) {
    cursor_.expect(Tok::kLeftParen, "expects '(' before constant literal");
    instruction.attrs.edit<ConstantAttrs>().literal = read_literal(cursor_, instruction.shape);
    cursor_.expect(Tok::kRightParen, "expects ')' after constant literal");
  } else {
    read_operands(scope, instruction);
  }
}

void ModuleParser::read_operands(Scope& scope, Instruction& instruction) {
  boost::container::small_vector<InstrId, 16> operands;
  cursor_.list(
      "the operands", [&] { operands.push_back(read_operand(scope)); }, Tok::kLeftParen,
      Tok::kRightParen);
  instruction.operands.assign(operands.begin(), operands.end());
}

InstrId ModuleParser::read_operand(Scope& scope) {
  const std::size_t begin = cursor_.token().begin;
  const auto at_operation = [this] {
    return cursor_.at(Tok::kIdentifier) && cursor_.peek_char() == '(';
  };
  std::optional<Shape> shape_text;
  if (at_shape(cursor_)) {
    shape_text = shape();
    if (at_operation()) {
      cursor_.rewind(begin);
      return read_rhs(scope, "", begin, /*with_attributes=*/false);
    }
  } else if (at_operation()) {
    return read_rhs(scope, "", begin, /*with_attributes=*/false);
  }
  return named_operand(scope, shape_text);
}

InstrId ModuleParser::named_operand(Scope& scope, const std::optional<Shape>& shape) {
  const bool creates = single_ && scopes_.size() == 1;
  const std::size_t begin = cursor_.token().begin;
  if (creates && shape && (cursor_.at(Tok::kComma) || cursor_.at(Tok::kRightParen))) {
    return missing_operand(scope, "", *shape);
  }
  const std::string_view name = cursor_.name();
  InstrId found = scope.names.find(name);
  if (!found.valid()) {
    if (creates && shape) return missing_operand(scope, name, *shape);
    cursor_.fail_at_if(creates, begin,
                       "Operand had no shape in HLO text; cannot create parameter for "
                       "single-instruction module.");
    cursor_.fail_at(begin, "instruction does not exist: {}", name);
  }
  while (cursor_.accept(Tok::kOctothorp)) found = element_operand(scope, found);
  const Shape& defined = scope.computation.at(found).shape;
  if (shape) {
    cursor_.fail_at_if(!compatible(defined, *shape), begin,
                       "The declared operand shape {} is not compatible with the "
                       "shape of the operand instruction {}.",
                       ShapeText{*shape}, ShapeText{defined});
  }
  return found;
}

// Reads `%tuple#2`, at the number: XLA's abbreviation of get-tuple-element; one is created per
// element.
InstrId ModuleParser::element_operand(Scope& scope, InstrId tuple) {
  const std::size_t begin = cursor_.token().begin;
  const std::int64_t index = cursor_.integer("expects the number of an element after '#'");
  InstrId& element = scope.elements[{tuple, index}];
  if (element.valid()) return element;
  Instruction get;
  get.opcode = Opcode::kGetTupleElement;
  get.attrs = IndexAttrs{index};
  get.operands = {tuple};
  get.offset = begin;
  infer(scope, get, begin);
  return element = add_instruction(scope, std::move(get), "", begin);
}

InstrId ModuleParser::missing_operand(Scope& scope, std::string_view name, const Shape& shape) {
  const std::int64_t number = missing_operands_++;
  Instruction parameter = parameter_instruction("", shape, static_cast<std::size_t>(number));
  parameter.offset = cursor_.token().begin;
  std::string_view text_name = name;
  if (name.empty()) text_name = scope.own_names.emplace_back(fmt::format("_{}", number));
  return add_instruction(scope, std::move(parameter), text_name, parameter.offset);
}

const Instruction& ModuleParser::operand(const Instruction& of, std::size_t index) const {
  cursor_.fail_if(index >= of.operands.size(), "{} needs at least {} operands", name(of.opcode),
                  index + 1);
  return scopes_.back()->computation.at(of.operands[index]);
}

OperandCounts operand_counts(Opcode opcode) {
  using enum Opcode;
  const int arity = info(opcode).arity;
  OperandCounts counts{std::max(arity, 0), arity < 0 ? INT_MAX : arity};
  if (opcode == kConvolution) counts.most = 3;                                // newer XLA: variadic
  if (opcode == kBroadcast || opcode == kConditional) counts.most = INT_MAX;  // dynamic, branches
  if (is_one_of(opcode, {kRecv, kInfeed})) counts.least = 0;                  // older XLA: no token
  if (is_one_of(opcode, {kSend, kOutfeed, kConditional})) counts.least = 1;
  return counts;
}

void ModuleParser::check_operand_count(const Instruction& instruction,
                                       std::size_t opcode_at) const {
  const auto count = static_cast<int>(instruction.operands.size());
  const auto [least, most] = operand_counts(instruction.opcode);
  cursor_.fail_at_if(count < least || count > most, opcode_at,
                     "{} expects {} operands, but has {} operands", name(instruction.opcode), least,
                     count);
}

void ModuleParser::infer(const Scope& scope, Instruction& instruction, std::size_t opcode_at) {
  std::optional<Shape> inferred;
  try {
    inferred = infer_shape(module_, scope.computation, instruction);
  } catch (const Error& error) {
    cursor_.fail_at(opcode_at, error.what());
  }
  cursor_.fail_at_if(!inferred, opcode_at, "the shape of {} cannot be left out",
                     name(instruction.opcode));
  cursor_.fail_at_if(inferred->rank() > Shape::kMaxRank, opcode_at,
                     "the result of {} would have {} dimensions, more than {}",
                     name(instruction.opcode), inferred->rank(), Shape::kMaxRank);
  instruction.shape = std::move(*inferred);
  fill_default_layouts(instruction.shape);
}

std::string ModuleParser::anonymous_name(Scope& scope, Opcode opcode) const {
  std::string base = fmt::format("{}.anon", name(opcode));
  int& count = scope.name_counts[base];
  std::string candidate = base;
  while (scope.names.find(candidate).valid()) candidate = fmt::format("{}.{}", base, ++count);
  return candidate;
}

InstrId ModuleParser::add_instruction(Scope& scope, Instruction&& instruction,
                                      std::string_view text_name, std::size_t offset) {
  cursor_.fail_at_if(++instruction_count_ > kMostInstructions, offset, "more than {} instructions",
                     kMostInstructions);
  if (text_name.empty()) {
    text_name = scope.own_names.emplace_back(anonymous_name(scope, instruction.opcode));
  }
  const InstrId id(scope.computation.instructions.size());
  cursor_.fail_at_if(!scope.names.add(text_name), offset, "instruction already exists: {}",
                     text_name);
  instruction.name = text_name;
  if (instruction.opcode == Opcode::kParameter) scope.computation.parameters.push_back(id);
  scope.computation.instructions.push_back(std::move(instruction));
  return id;
}

// Asynchronous operations: checks of async-start, -update and -done, and the short syntax
// `custom-call-start(...)`, for which a wrapped computation is created.

namespace {

// ((operands), result, ...)
bool is_async_shape(const Shape& shape) {
  return shape.is_tuple() && shape.elements.size() >= 2 && shape.elements[0].is_tuple();
}

}  // namespace

void ModuleParser::check_async_shape(const Scope& scope, const Instruction& instruction,
                                     std::size_t opcode_at) const {
  if (!is_async_chain(instruction.opcode)) return;
  constexpr std::string_view kForm = "in the form of ((async-operands), async-outputs, state).";
  const bool starts = starts_asynchronously(instruction.opcode);
  const bool ends = op_class(instruction.opcode) == OpClass::kAsyncDone;
  if (!starts) {
    // In newer XLA, an update has the values it waits for as further operands.
    cursor_.fail_at_if(instruction.operands.empty() || (ends && instruction.operands.size() != 1) ||
                           !is_async_shape(scope.computation.at(instruction.operands[0]).shape),
                       opcode_at, "AsyncUpdate and AsyncDone expect a single operand {}", kForm);
    const Opcode previous = scope.computation.at(instruction.operands[0]).opcode;
    cursor_.fail_at_if(!is_async_chain(previous) || op_class(previous) == OpClass::kAsyncDone,
                       opcode_at,
                       "AsyncUpdate and AsyncDone expect a single async op as their operand.");
  }
  cursor_.fail_at_if(!ends && !is_async_shape(instruction.shape), opcode_at,
                     "Async{} expects the op shape to be {}", starts ? "Start" : "Update", kForm);
}

InstrId ModuleParser::async_start_of(const Scope& scope, const Instruction& instruction) const {
  const InstrId previous = instruction.operands[0];
  const auto found = scope.async_starts.find(previous);
  return found == scope.async_starts.end() ? previous : found->second;
}

Instruction ModuleParser::wrapped_instruction(const Scope&, const Instruction& start,
                                              Opcode opcode) const {
  Instruction inner;
  inner.opcode = opcode;
  inner.attrs = attributes_of(opcode);
  inner.name = "async_op";
  inner.shape = start.shape.elements[1];
  inner.operands = start.operands;
  inner.offset = start.offset;
  return inner;
}

void ModuleParser::add_wrapped_computation(Instruction& start, Instruction&& inner,
                                           const Scope& scope, std::size_t opcode_at) {
  Computation wrapped;
  wrapped.name = unique_computation_name("async_wrapped");
  wrapped.execution_thread = start.as<AsyncAttrs>().execution_thread;
  for (std::size_t i = 0; i < start.operands.size(); ++i) {
    Instruction& parameter = wrapped.instructions.emplace_back(
        parameter_instruction(i == 0 ? "async_param" : fmt::format("async_param.{}", i),
                              scope.computation.at(start.operands[i]).shape, i));
    parameter.offset = start.offset;
    inner.operands[i] = InstrId(i);
    wrapped.parameters.push_back(InstrId(i));
  }
  wrapped.root = InstrId(wrapped.instructions.size());
  wrapped.instructions.push_back(std::move(inner));
  start.called = {add_computation(std::move(wrapped), opcode_at)};
}

void ModuleParser::finish_async(Scope& scope, Instruction& instruction, const OpcodeText& opcode,
                                std::size_t opcode_at) {
  if (!is_async_chain(instruction.opcode)) return;
  if (starts_asynchronously(instruction.opcode)) {
    const ComputationId callee = instruction.called.at(0);
    async_callee_.resize(module_.computations.size(), false);
    cursor_.fail_at_if(async_callee_[callee.index()], opcode_at,
                       "Computation {} is already referenced by another "
                       "async op",
                       module_.at(callee).name);
    async_callee_[callee.index()] = true;
    return;
  }
  const InstrId start_id = async_start_of(scope, instruction);
  const Instruction& start = scope.computation.at(start_id);
  scope.async_starts.emplace(InstrId(scope.computation.instructions.size()), start_id);
  const Computation& callee = module_.at(start.called[0]);
  if (opcode.wrapped && callee.root_instruction().opcode != *opcode.wrapped) {
    cursor_.fail_at(opcode_at, "Expect async wrapped opcode to be {}, but got {}",
                    name(callee.root_instruction().opcode), name(*opcode.wrapped));
  }
  const std::string& thread = instruction.as<AsyncAttrs>().execution_thread;
  const std::string& start_thread = start.as<AsyncAttrs>().execution_thread;
  cursor_.fail_at_if(!thread.empty() && thread_name(thread) != thread_name(start_thread), opcode_at,
                     "Expect async_execution_thread to be {}, but got {}",
                     thread_name(start_thread), thread);
  if (!instruction.called.empty() && instruction.called[0] != start.called[0]) {
    cursor_.fail_at(opcode_at, "Expect async_wrapped_computation to be {}, but got {}", callee.name,
                    module_.at(instruction.called[0]).name);
  }
  instruction.called.clear();  // inherited from the start
  instruction.attrs.edit<AsyncAttrs>().execution_thread.clear();
}

// SparseCores of TPUs are started before their operands are available; an update supplies them. The
// update then becomes the start, and the original start an empty tuple.
void start_where_operands_are(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& update : computation.instructions) {
      if (update.opcode != Opcode::kAsyncUpdate || update.operands.size() < 2) continue;
      Instruction& start = computation.instructions[update.operands[0].index()];
      if (start.opcode != Opcode::kAsyncStart || !start.operands.empty()) continue;
      update.opcode = Opcode::kAsyncStart;
      update.operands.erase(update.operands.begin());
      update.aliasing.reset();  // aliases the context, which is not used
      update.called = std::move(start.called);
      update.attrs = std::move(start.attrs);
      update.backend_config = std::move(start.backend_config);
      start.opcode = Opcode::kTuple;
      start.shape = Shape::tuple({});
      start.called.clear();
      start.attrs = {};
      start.backend_config = {};
    }
  }
}

}  // namespace tilecast::ir
