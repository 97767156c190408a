// Reads single parts of HLO text with the parser's own readers. Each consumes the whole text and
// throws Error if it is not such a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/text/hlo_printer.h"
#include "ir/text/value_readers.h"

namespace tilecast::support {

template <class Read>
auto read_all(std::string_view text, Read read) {
  const base::SourceText source("text", std::string(text));
  ir::Cursor cursor(source, ir::ParseOptions{});
  auto value = read(cursor);
  if (!cursor.at(ir::Tok::kEof)) cursor.fail("expects the end of the text");
  return value;
}

[[nodiscard]] inline ir::Shape parse_shape(std::string_view text) {
  return read_all(text, ir::read_shape);
}
[[nodiscard]] inline ir::ReplicaGroups parse_replica_groups(std::string_view text) {
  return read_all(text, ir::read_replica_groups);
}

// The line of the entry's root, without indentation and `ROOT`.
[[nodiscard]] inline std::string root_text(const ir::Module& module,
                                           const ir::PrintOptions& options = {}) {
  const std::string text = print_hlo(module, options);
  constexpr std::string_view kRoot = "  ROOT ";
  const std::size_t begin = text.find(kRoot, text.find("\nENTRY ")) + kRoot.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}
// The same without the names of the instruction and its operands (XLA's canonical form).
[[nodiscard]] inline std::string nameless_root_text(ir::Module module) {
  ir::Computation& entry = module.computations[module.entry.index()];
  for (ir::Instruction& instruction : entry.instructions) instruction.name.clear();
  std::string text = root_text(module).substr(std::string_view("% = ").size());
  for (std::size_t at = text.find(" %"); at != std::string::npos; at = text.find(" %", at)) {
    const char next = at + 2 < text.size() ? text[at + 2] : '\0';
    if (next == ',' || next == ')') {
      text.erase(at, 2);
    } else {
      at += 2;
    }
  }
  return text;
}

}  // namespace tilecast::support
