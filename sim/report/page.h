// One HTML file that shows results: plots and tables, offline, nothing fetched.
//
//   std::string html = page({result, other}, {.title = "mlp_train on two machines"});
//
// Its script, style and the plotting library (D3, ISC licence) are part of this program
// (cmake/report_page.cmake). Same results, same bytes. Pure; thread-safe.
#pragma once

#include <span>
#include <string>

#include "sim/report/results.h"

namespace tilecast::sim::report {

struct PageOptions {
  std::string title = "Tilecast";
};

// Error where this program was built without D3.
[[nodiscard]] std::string page(std::span<const Result> results, const PageOptions& options = {});

// What its script reads: {"title", "results": [{"source", "written", "document"}]}. Numbers have 7
// digits; lists of records are {"#columns": {key: column}}, a column of values that repeat is
// {"#words": [...], "at": [...]}.
[[nodiscard]] std::string page_data(std::span<const Result> results, const PageOptions& options);

}  // namespace tilecast::sim::report
