// Modules: header, tables, computations; and the entry points of ir/text/hlo_parser.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>

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

}  // namespace tilecast::ir
