// Modules: header, tables, computations; and the entry points of ir/text/hlo_parser.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/ops/op_row.h"
#include "ir/text/hlo_parser.h"
#include "ir/text/module_parser.h"
#include "ir/verify/verifier.h"

namespace tilecast::ir {
namespace {

constexpr std::string_view kDefaultName = "module";

void read_entry_layout(ModuleParser& parser) {
  Cursor& cursor = parser.cursor();
  Module& module = parser.module();
  cursor.expect(Tok::kLeftBrace, "expects '{' to start entry_computation_layout");
  cursor.list(
      "the shapes of parameters", [&] { module.entry_parameter_layouts.push_back(parser.shape()); },
      Tok::kLeftParen, Tok::kRightParen);
  cursor.expect(Tok::kArrow, "expects '->' before the result shape");
  module.entry_result_layout = parser.shape();
  cursor.expect(Tok::kRightBrace, "expects '}' at the end of entry_computation_layout");
}

using Read = void (*)(ModuleParser& parser, std::string_view key);
struct HeaderRow {
  std::string_view key;
  Read read;
};

void keep(ModuleParser& parser, std::string_view key, std::string value) {
  parser.module().raw.push_back({std::string(key), std::move(value)});
}
void keep_value(ModuleParser& parser, std::string_view key) {
  keep(parser, key, std::string(parser.cursor().any_value()));
}

constexpr std::array<HeaderRow, 11> kHeader = {{
    {"is_scheduled",
     [](ModuleParser& p, std::string_view) { p.module().is_scheduled = p.cursor().boolean(); }},
    {"replica_count",
     [](ModuleParser& p, std::string_view key) {
       p.module().replica_count = p.cursor().integer_from(1, key);
     }},
    {"num_partitions",
     [](ModuleParser& p, std::string_view key) {
       p.module().num_partitions = p.cursor().integer_from(1, key);
     }},
    {"input_output_alias",
     [](ModuleParser& p, std::string_view) {
       p.module().input_output_alias = read_aliases(p.cursor(), /*with_kind=*/true);
     }},
    {"buffer_donor", keep_value},
    {"entry_computation_layout", [](ModuleParser& p, std::string_view) { read_entry_layout(p); }},
    {"frontend_attributes", keep_value},
    {"allow_spmd_sharding_propagation_to_parameters", keep_value},
    {"allow_spmd_sharding_propagation_to_output", keep_value},
    {"alias_passthrough_params",
     [](ModuleParser& p, std::string_view key) {
       if (p.cursor().boolean()) keep(p, key, "true");
     }},
    {"origin_recovery_table", keep_value},
}};

}  // namespace

void ModuleParser::read_header_attributes() {
  std::uint32_t seen = 0;
  while (cursor_.accept(Tok::kComma)) {
    const Token key = cursor_.token();
    cursor_.expect(Tok::kAttributeName, "expects attributes of the module");
    const auto row = std::find_if(kHeader.begin(), kHeader.end(),
                                  [&](const HeaderRow& r) { return r.key == key.text; });
    if (row == kHeader.end()) {
      cursor_.fail_at_if(is_table(key.text), key.begin, "{} is a table after the header", key.text);
      cursor_.complain(key.begin,
                       fmt::format("unexpected attribute \"{}\" of the module, kept", key.text));
      keep(*this, key.text, std::string(cursor_.any_value()));
      continue;
    }
    const std::uint32_t bit = std::uint32_t{1} << (row - kHeader.begin());
    cursor_.fail_at_if((seen & bit) != 0, key.begin, "attribute {} already exists", key.text);
    seen |= bit;
    row->read(*this, row->key);
  }
}

void ModuleParser::read_header() {
  if (!cursor_.at_keyword("HloModule")) return;
  cursor_.advance();
  module_.name = cursor_.name();
  read_header_attributes();
  read_tables();
}

// Each table becomes one raw attribute with its rows: `1 "file.py"
// 2 "other.py"
// `.
void ModuleParser::read_tables() {
  while (cursor_.at(Tok::kKeyword) && is_table(cursor_.token().text)) {
    RawAttr& table = module_.raw.emplace_back(RawAttr{std::string(cursor_.token().text), {}});
    cursor_.advance();
    while (cursor_.at(Tok::kInteger)) {
      table.value += fmt::format("{} ", cursor_.integer());
      cursor_.fail_if(!cursor_.at(Tok::kString) && !cursor_.at(Tok::kLeftBrace),
                      "expects a string or '{' in a table");
      table.value +=
          cursor_.at(Tok::kString) ? cursor_.quoted_string() : std::string(cursor_.braces());
      table.value += '\n';
    }
  }
}

bool ModuleParser::looks_like_computation() {
  if (!cursor_.at(Tok::kName) && !cursor_.at(Tok::kIdentifier)) return false;
  Cursor probe = cursor_;
  const char after = probe.peek_char();
  if (after != '(') return after == '{';
  probe.advance();
  int depth = 0;
  do {
    depth += probe.at(Tok::kLeftParen) ? 1 : probe.at(Tok::kRightParen) ? -1 : 0;
    probe.advance();
  } while (depth > 0 && !probe.at(Tok::kEof));
  return probe.at(Tok::kArrow);
}

void ModuleParser::read_single_instruction() {
  single_ = true;
  Scope scope;
  scope.computation.name = "entry";
  scope.begin = cursor_.token().begin;
  scopes_.push_back(&scope);
  if (at_shape(cursor_)) {
    scope.root = read_rhs(scope, "", scope.begin, /*with_attributes=*/true);
  } else {
    read_instruction(scope);
  }
  scopes_.pop_back();
  cursor_.fail_if(!cursor_.at(Tok::kEof),
                  "Expected eof after parsing single instruction.  Did you mean to write an HLO "
                  "module and forget the \"HloModule\" header?");
  module_.entry = finish_computation(std::move(scope), std::nullopt);
}

void ModuleParser::fill_entry_layouts() {
  if (module_.entry_result_layout) return;
  const Computation& entry = module_.entry_computation();
  for (const InstrId id : entry.parameters) {
    module_.entry_parameter_layouts.push_back(entry.at(id).shape);
  }
  module_.entry_result_layout = entry.root_instruction().shape;
}

void ModuleParser::finish_module() {
  if (module_.name.empty()) module_.name = kDefaultName;
  cursor_.fail_if(module_.computations.empty(), "expects at least one computation");
  if (!module_.entry.valid()) module_.entry = ComputationId(module_.computations.size() - 1);
  fill_entry_layouts();
  module_.warnings = std::move(cursor_.warnings());
}

Module ModuleParser::parse() {
  const bool header = cursor_.at_keyword("HloModule");
  if (header || cursor_.at_keyword("ENTRY") || looks_like_computation()) {
    read_header();
    while (!cursor_.at(Tok::kEof)) read_computation();
  } else {
    read_single_instruction();
  }
  finish_module();
  start_where_operands_are(module_);
  return std::move(module_);
}

Module parse_unverified(const base::SourceText& text, const ParseOptions& options) {
  Module module = ModuleParser(text, options).parse();
  module.file = text.file();
  return module;
}

Module parse_hlo(const base::SourceText& text, const ParseOptions& options) {
  Module module = parse_unverified(text, options);
  verify(module, &text);
  return module;
}

Module read_hlo_file(const std::string& path, const ParseOptions& options) {
  return parse_hlo(base::SourceText::read_file(path), options);
}

// Computations: at the top of a module, or written inline as the value of an attribute.

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

// The `, key=value` lists of instructions.

namespace {

// A table of rows, the instruction they apply to, and which of them were seen.
struct RowGroup {
  std::span<const AttributeRow> rows;
  Instruction* target = nullptr;
  std::uint64_t seen = 0;
};

void fail_unknown(const Cursor& cursor, const Token& key, std::span<const RowGroup> groups) {
  std::string allowed;
  for (const RowGroup& group : groups) {
    for (const AttributeRow& row : group.rows) {
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", row.key);
    }
  }
  cursor.fail_at(key.begin, "unexpected attribute \"{}\". Allowed attributes: {}", key.text,
                 allowed);
}

// Reads the value if one of the groups has a row for the key.
bool read_known(ModuleParser& parser, std::span<RowGroup> groups, const Token& key) {
  for (RowGroup& group : groups) {
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const AttributeRow& row = group.rows[i];
      if (row.key != key.text) continue;
      const std::uint64_t bit = std::uint64_t{1} << i;
      parser.cursor().fail_at_if((group.seen & bit) != 0, key.begin, "attribute {} already exists",
                                 key.text);
      group.seen |= bit;
      row.read(parser, *group.target, row.key);
      return true;
    }
  }
  return false;
}

void read_unknown(Cursor& cursor, Instruction& instruction, std::span<const RowGroup> groups,
                  const Token& key) {
  if (cursor.options().strict) fail_unknown(cursor, key, groups);
  constexpr std::size_t kMostKept = 256;
  cursor.fail_at_if(instruction.raw->size() >= kMostKept, key.begin, "too many unknown attributes");
  cursor.fail_at_if(instruction.find_raw(key.text) != nullptr, key.begin,
                    "attribute {} already exists", key.text);
  cursor.complain(key.begin, fmt::format("unknown attribute \"{}\" kept", key.text));
  instruction.raw.edit().push_back({std::string(key.text), std::string(cursor.any_value())});
}

void check_required(const Cursor& cursor, std::span<const RowGroup> groups) {
  for (const RowGroup& group : groups) {
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      if (group.rows[i].required && (group.seen >> i & 1U) == 0) {
        cursor.fail("attribute {} is expected but not seen", group.rows[i].key);
      }
    }
  }
}

}  // namespace

void ModuleParser::read_attributes(Instruction& instruction, Instruction* inner,
                                   AttributeForm form) {
  Instruction& operation = inner != nullptr ? *inner : instruction;
  bool predicated = false;
  if (operation.opcode == Opcode::kConditional) {
    const Shape& selector = operand(operation, 0).shape;
    predicated = selector.dtype == DType::kPred;
    cursor_.fail_if(!selector.is_scalar() || (!predicated && selector.dtype != DType::kS32),
                    "The first operand must be a scalar of PRED or S32");
  }
  const bool is_own = inner != nullptr || !form.sugar;
  const std::span<const AttributeRow> none;
  std::array<RowGroup, 3> groups = {
      RowGroup{is_own ? attributes_for(operation.opcode, predicated) : none, &operation},
      RowGroup{common_attributes(), &instruction},
      RowGroup{form.sugar ? short_async_attributes(instruction.opcode) : none, &instruction}};
  while (form.allowed && cursor_.accept(Tok::kComma)) {
    const Token key = cursor_.token();
    cursor_.expect(Tok::kAttributeName, "expects attributes");
    if (!read_known(*this, groups, key)) read_unknown(cursor_, instruction, groups, key);
  }
  check_required(cursor_, groups);
  cursor_.fail_if(operation.opcode == Opcode::kBroadcast && (groups[0].seen & 1U) == 0 &&
                      operand(operation, 0).shape.rank() > 0,
                  "attribute dimensions is expected but not seen");
}

}  // namespace tilecast::ir
