// The page of `tilecast report`.
//
// Reads results that `tilecast` wrote with --format json (and evaluate with --rows) for the page.
//
//   Result result = read_result(base::SourceText::read_file("run.json"));
//   result.document["programs"][0]["kernels"]
//
// Throws Error with file, line and column for anything but a result, and for a result that lacks
// data for its plots. Plain values; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

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

// A single HTML file with plots and tables of results; works offline.
//
//   std::string html = page({result, other}, {.title = "mlp_train on two machines"});
//
// Script, style and the plotting library (D3, ISC licence) are compiled into this program
// (cmake/report_page.cmake). Equal results give equal bytes. Pure; thread-safe.
struct PageOptions {
  std::string title = "Tilecast";
};

// Throws Error if this program was built without D3.
[[nodiscard]] std::string page(std::span<const Result> results, const PageOptions& options = {});

// The input of the page's script: {"title", "results": [{"source", "written", "document"}]}.
// Numbers have 7 digits; lists of records are {"#columns": {key: column}}, and a column of repeated
// values is {"#words": [...], "at": [...]}.
[[nodiscard]] std::string page_data(std::span<const Result> results, const PageOptions& options);

// The files of sim/report/page and D3, compiled into the program by cmake/report_page.cmake.
struct PageParts {
  std::string_view html, css, script;
  std::string_view d3;  // empty: not available at build time
};
[[nodiscard]] PageParts page_parts();

}  // namespace tilecast::sim::report
