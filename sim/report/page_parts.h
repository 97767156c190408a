// The files of sim/report/page and D3, as cmake/report_page.cmake puts them into the program.
#pragma once

#include <string_view>

namespace tilecast::sim::report {

struct PageParts {
  std::string_view html, css, script;
  std::string_view d3;  // empty: was not there at build time
};
[[nodiscard]] PageParts page_parts();

}  // namespace tilecast::sim::report
