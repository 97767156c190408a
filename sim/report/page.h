// A single HTML file with plots and tables of results; works offline.
//
//   std::string html = page({result, other}, {.title = "mlp_train on two machines"});
//
// Script, style and the plotting library (D3, ISC licence) are compiled into this program
// (cmake/report_page.cmake). Equal results give equal bytes. Pure; thread-safe.
#pragma once

#include <span>
#include <string>

#include "sim/report/results.h"

namespace tilecast::sim::report {

struct PageOptions {
  std::string title = "Tilecast";
};

// Throws Error if this program was built without D3.
[[nodiscard]] std::string page(std::span<const Result> results, const PageOptions& options = {});

// The input of the page's script: {"title", "results": [{"source", "written", "document"}]}.
// Numbers have 7 digits; lists of records are {"#columns": {key: column}}, and a column of repeated
// values is {"#words": [...], "at": [...]}.
[[nodiscard]] std::string page_data(std::span<const Result> results, const PageOptions& options);

}  // namespace tilecast::sim::report
