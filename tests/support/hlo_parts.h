// Reads single parts of HLO text with the parser's own readers. Each consumes the whole text and
// throws Error if it is not such a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace tilecast::support
