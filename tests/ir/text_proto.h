// Protobuf's text format as a tree of names and values, for comparing protos with what was read of
// their binary form: knows no message type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::support {

struct TextProto {
  std::string name, value;        // of a field `name: value`; strings without quotes and escapes
  std::vector<TextProto> fields;  // of `name { ... }`

  [[nodiscard]] std::vector<const TextProto*> all(std::string_view field) const;
  // The first of that name; one without fields and value where there is none.
  [[nodiscard]] const TextProto& at(std::string_view field) const;
  [[nodiscard]] std::int64_t number(std::string_view field, std::int64_t otherwise = 0) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view field) const;
};

// A file, perhaps gzipped.
[[nodiscard]] TextProto read_text_proto(const std::string& path);

}  // namespace tilecast::support
