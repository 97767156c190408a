// Reads JSON of any size as flat records, holding one record in memory at a time.
//
// A record is an element of the array, or a member of the object, under one key of the top level
// ("traceEvents", "cache"); its scalars are given as path and text: {"a": {"b": [1, "x"]}} is a.b[]
// = 1, a.b[] = "x". Scalars elsewhere in the file go to `header`, with paths of the same form. With
// `whole_arrays`, an array of a record is one field, a.b, with its items.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measured/importers/byte_source.h"

namespace tilecast::measured {

struct JsonField {
  std::string path, text;             // numbers as written; true, false, null
  bool is_text = false;               // was quoted in the file
  std::vector<JsonField> items = {};  // of an array kept whole: scalars, and arrays without a path
};

using JsonRecord = std::vector<JsonField>;
// The text at `path`; null if the record has none.
[[nodiscard]] const std::string* find_field(const JsonRecord& record, std::string_view path);

struct JsonRecordReader {
  std::string container;   // top-level key that holds the records
  bool top_array = false;  // the file may also be a single array of records
  bool whole_arrays = false;
  std::function<void(const std::string& key, const JsonRecord&)> record;  // key: "" in arrays
  std::function<void(const JsonField&)> header = [](const JsonField&) {};
  // Accept a file that ends between two records, as left behind by an interrupted writer.
  bool may_be_unfinished = false;
};

// Throws Error (file and position) for invalid or truncated JSON, nesting deeper than 64 and
// records above 16 MiB; exceptions of the callbacks propagate. Returns false if the file is
// unfinished.
bool read_json_records(ByteSource& source, const JsonRecordReader& reader);

}  // namespace tilecast::measured
