// Reads results that `tilecast` wrote with --format json (and evaluate with --rows) for the page.
//
//   Result result = read_result(base::SourceText::read_file("run.json"));
//   result.document["programs"][0]["kernels"]
//
// Throws Error with file, line and column for anything but a result, and for a result that lacks
// data for its plots. Plain values; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/source_text.h"

namespace tilecast::sim::report {

struct Result {
  std::string source;   // the file
  std::string written;  // last modification, "2026-11-25 16:02 UTC"; "": unknown
  nlohmann::ordered_json
      document;  // rows of evaluate: {"schema": "tilecast.evaluate_rows/1", rows}
};
[[nodiscard]] Result read_result(base::SourceText text);
// Sets Result::written from the file.
[[nodiscard]] Result read_result_file(const std::string& path);

}  // namespace tilecast::sim::report
