// The files of sim/report/page and D3, compiled into the program by cmake/report_page.cmake.
#pragma once

#include <string_view>

namespace tilecast::sim::report {

struct PageParts {
  std::string_view html, css, script;
  std::string_view d3;  // empty: not available at build time
};
[[nodiscard]] PageParts page_parts();

}  // namespace tilecast::sim::report
