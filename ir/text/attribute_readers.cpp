#include "ir/text/attribute_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilecast::ir::attribute {
std::string one_of(Cursor& cursor, std::span<const std::string_view> known, std::string_view what) {
  const Token token = cursor.token();
  const std::string_view word = cursor.identifier(fmt::format("expects {}", what));
  cursor.fail_at_if(std::find(known.begin(), known.end(), word) == known.end(), token.begin,
                    "Unknown {}: {}; expects one of {}", what, word, fmt::join(known, ", "));
  return std::string(word);
}

void keep(Instruction& instruction, Key key, std::string value) {
  instruction.raw.edit().push_back({std::string(key), std::move(value)});
}

void keep_true(ModuleParser& parser, Instruction& instruction, Key key) {
  if (parser.cursor().boolean()) keep(instruction, key, "true");
}

void keep_bool(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, parser.cursor().boolean() ? "true" : "false");
}

void keep_integer(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, std::to_string(parser.cursor().integer()));
}

void keep_string(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, parser.cursor().quoted_string());
}

void keep_word(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, std::string(parser.cursor().identifier("expects a word")));
}

void keep_shape(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, to_string(parser.shape()));
}

void keep_int_lists(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, to_text(parser.cursor().int_lists()));
}

void ignore(ModuleParser& parser, Instruction&, Key) {
  parser.cursor().any_value();
}

// Keeps a value that we do not interpret; only brackets and strings must match.
void keep_value(ModuleParser& parser, Instruction& instruction, Key key) {
  keep(instruction, key, one_line(parser.cursor().any_value()));
}

// Kept as written, but iota forms must match the number of devices.
void sharding(ModuleParser& parser, Instruction& instruction, Key key) {
  Cursor& cursor = parser.cursor();
  const std::size_t begin = cursor.token().begin;
  cursor.fail_if(!cursor.at(Tok::kLeftBrace), "expected '{' to start sharding attribute");
  int depth = 0;
  do {
    cursor.fail_if(cursor.at(Tok::kEof), "expects '}' at the end of a sharding");
    depth += cursor.at(Tok::kLeftBrace) ? 1 : cursor.at(Tok::kRightBrace) ? -1 : 0;
    const bool tiles = cursor.at(Tok::kAttributeName) && cursor.token().text == "devices";
    cursor.advance();
    if (tiles) check_tiles(cursor);
  } while (depth > 0);
  keep(instruction, key, one_line(cursor.text().substr(begin, cursor.read_up_to() - begin)));
}

void replication(ModuleParser& parser, Instruction& instruction, Key key) {
  Cursor& cursor = parser.cursor();
  const std::size_t begin = cursor.token().begin;
  std::vector<std::string_view> values;
  cursor.list("a list of booleans", [&] { values.push_back(cursor.boolean() ? "true" : "false"); });
  std::size_t leaves = 0;
  for_each_leaf(instruction.shape, [&leaves](const Shape&) { ++leaves; });
  cursor.fail_at_if(values.size() != leaves, begin,
                    "parameter has {} leaf buffers, but parameter_replication "
                    "has {} elements",
                    leaves, values.size());
  std::string text = fmt::format("{{{}}}", fmt::join(values, ","));
  if (auto* const parameter = instruction.attrs.edit_if<ParameterAttrs>()) {
    parameter->replication = std::move(text);
  } else {
    keep(instruction, key, std::move(text));
  }
}

void control_predecessors(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.control_predecessors = parser.instruction_list();
}

void metadata(ModuleParser& parser, Instruction& instruction, Key) {
  const std::string_view braces = parser.cursor().braces();
  std::string text = one_line(braces.substr(1, braces.size() - 2));
  if (text.ends_with(' ')) text.pop_back();
  instruction.metadata = text.starts_with(' ') ? text.substr(1) : std::move(text);
}

void backend_config(ModuleParser& parser, Instruction& instruction, Key) {
  Cursor& cursor = parser.cursor();
  instruction.backend_config =
      cursor.at(Tok::kLeftBrace) ? std::string(cursor.braces()) : cursor.quoted_string();
  if (*instruction.backend_config == "\"\"") instruction.backend_config.reset();
}

void dimensions(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.dimensions = parser.cursor().int_list();
}

void window(ModuleParser& parser, Instruction& instruction, Key) {
  Window value = read_window(parser.cursor());
  if (auto* const conv = instruction.attrs.edit_if<ConvAttrs>()) {
    conv->window = std::move(value);
  } else if (auto* const custom = instruction.attrs.edit_if<CustomCallAttrs>()) {
    custom->window = std::move(value);
  } else {
    instruction.attrs.edit<WindowAttrs>().window = std::move(value);
  }
}

void dim_labels(ModuleParser& parser, Instruction& instruction, Key) {
  ConvDims dims = read_conv_dims(parser.cursor());
  if (auto* const conv = instruction.attrs.edit_if<ConvAttrs>()) {
    conv->dims = std::move(dims);
  } else {
    instruction.attrs.edit<CustomCallAttrs>().dims = std::move(dims);
  }
}

void precision(ModuleParser& parser, Instruction& instruction, Key key) {
  constexpr std::array<std::string_view, 4> kKnown = {"default", "high", "highest",
                                                      "packed_nibble"};
  Cursor& cursor = parser.cursor();
  std::vector<std::string> values;
  cursor.list("a list of precisions",
              [&] { values.push_back(one_of(cursor, kKnown, "precision")); });
  if (auto* const dot = instruction.attrs.edit_if<DotAttrs>()) {
    dot->precision = std::move(values);
  } else if (auto* const conv = instruction.attrs.edit_if<ConvAttrs>()) {
    conv->precision = std::move(values);
  } else {
    keep(instruction, key, fmt::format("{{{}}}", fmt::join(values, ",")));
  }
}

void aliasing(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.aliasing = read_aliases(parser.cursor(), /*with_kind=*/false);
}

void fusion_kind(ModuleParser& parser, Instruction& instruction, Key) {
  constexpr std::array<std::string_view, 4> kKnown = {"kLoop", "kInput", "kOutput", "kCustom"};
  const std::string word = one_of(parser.cursor(), kKnown, "fusion kind");
  const auto index = std::find(kKnown.begin(), kKnown.end(), word) - kKnown.begin();
  instruction.attrs.edit<FusionAttrs>().kind = static_cast<FusionKind>(index);
}

void literal(ModuleParser& parser, Instruction& instruction, Key key) {
  Shape shape = read_shape_before_literal(parser.cursor());
  fill_default_layouts(shape);
  const Literal value = read_literal(parser.cursor(), shape);
  keep(instruction, key, to_string(shape) + " " + value.text);
}

void schedule(ModuleParser& parser, Instruction& instruction, Key key) {
  constexpr std::array<std::string_view, 3> kKnown = {"SCHEDULE_NONE", "SCHEDULE_LATEST",
                                                      "SCHEDULE_EARLIEST"};
  std::string word = one_of(parser.cursor(), kKnown, "custom-call schedule");
  if (word != kKnown[0]) keep(instruction, key, std::move(word));
}

void api_version(ModuleParser& parser, Instruction& instruction, Key key) {
  constexpr std::array<std::string_view, 4> kKnown = {
      "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  Cursor& cursor = parser.cursor();
  cursor.fail_if(cursor.token().text == "API_VERSION_UNSPECIFIED", "Invalid API version");
  std::string word = one_of(cursor, kKnown, "API version");
  if (word != kKnown[0]) keep(instruction, key, std::move(word));
}

void source_target_pairs(ModuleParser& parser, Instruction& instruction, Key) {
  Cursor& cursor = parser.cursor();
  const std::size_t begin = cursor.token().begin;
  auto& attrs = instruction.attrs.edit<CollectiveAttrs>();
  for (const Dims& pair : cursor.int_lists()) {
    cursor.fail_at_if(pair.size() != 2, begin,
                      "expects 'source_target_pairs=' to be a list of pairs");
    attrs.source_target_pairs.emplace_back(pair[0], pair[1]);
  }
}

void callees(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.called = parser.computation_list();
}

void dot_algorithm(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<DotAttrs>().algorithm =
      parser.cursor().identifier("expects a dot algorithm");
}

void replica_groups(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<CollectiveAttrs>().groups = read_replica_groups(parser.cursor());
}

void execution_thread(ModuleParser& parser, Instruction& instruction, Key) {
  instruction.attrs.edit<AsyncAttrs>().execution_thread = parser.cursor().string();
}

}  // namespace tilecast::ir::attribute
