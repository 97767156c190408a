// Protobuf's text format as a tree of names and values, for checking what was read from the binary
// form. Independent of message types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::support {

struct TextProto {
  std::string name, value;        // for a field `name: value`; strings without quotes and escapes
  std::vector<TextProto> fields;  // for `name { ... }`

  [[nodiscard]] std::vector<const TextProto*> all(std::string_view field) const;
  // The first field with this name; an empty one if there is none.
  [[nodiscard]] const TextProto& at(std::string_view field) const;
  [[nodiscard]] std::int64_t number(std::string_view field, std::int64_t otherwise = 0) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view field) const;
};

// Reads a file, which may be gzipped.
[[nodiscard]] TextProto read_text_proto(const std::string& path);

}  // namespace tilecast::support
