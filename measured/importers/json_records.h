// JSON of any size as flat records, in memory that holds one record at a time.
//
// A record is an element of the array, or a member of the object, under one key of the top level
// ("traceEvents", "cache"); its scalars come as path and text: {"a": {"b": [1, "x"]}} is
// a.b[] = 1, a.b[] = "x". Scalars elsewhere in the file are the header's, by the same paths.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measured/importers/byte_source.h"

namespace tilecast::measured {

struct JsonField {
  std::string path, text;  // numbers as written; true, false, null
  bool is_text = false;    // was quoted
};

using JsonRecord = std::vector<JsonField>;
// The text under `path`; null when the record has none.
[[nodiscard]] const std::string* find_field(const JsonRecord& record, std::string_view path);

struct JsonRecordReader {
  std::string container;   // key of the top level
  bool top_array = false;  // a file that is one array has records too
  std::function<void(const std::string& key, const JsonRecord&)> record;  // key: "" in arrays
  std::function<void(const JsonField&)> header = [](const JsonField&) {};
  // A file that ends between two records, as a writer that was stopped leaves it, has them all.
  bool may_be_unfinished = false;
};

// Throws Error (file and place) for text that is no JSON or ends too early, for nesting deeper than
// 64 and for records above 16 MiB; what the functions throw passes through. False: unfinished.
bool read_json_records(ByteSource& source, const JsonRecordReader& reader);

}  // namespace tilecast::measured
