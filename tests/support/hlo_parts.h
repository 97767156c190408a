// Parts of HLO text read by themselves, through the parser's own readers; each consumes the whole
// text. Throws Error where the text is not one such part.
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
