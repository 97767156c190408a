// What `tilecast` wrote with --format json (and evaluate with --rows), read back for a page.
//
//   Result result = read_result(base::SourceText::read_file("run.json"));
//   result.document["programs"][0]["kernels"]
//
// Error with file, line and column for anything else than a result, and for one without what its
// plots need. Plain values; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/source_text.h"

namespace tilecast::sim::report {

struct Result {
  std::string source;   // the file
  std::string written;  // when the file was written last, "2026-11-25 16:02 UTC"; "": not known
  nlohmann::ordered_json
      document;  // rows of evaluate: {"schema": "tilecast.evaluate_rows/1", rows}
};
[[nodiscard]] Result read_result(base::SourceText text);
// With Result::written of a file on disk.
[[nodiscard]] Result read_result_file(const std::string& path);

}  // namespace tilecast::sim::report
