// Others' published figures, as text or Markdown, under a heading that says whose they are and that
// they are on other data. A table with a row of means or medians shows these alone; JSON has all.
// Pure.
#pragma once

#include <span>
#include <string>

#include "measured/reference_rows.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string reference_text(std::span<const measured::ReferenceRow> rows);
[[nodiscard]] std::string reference_markdown(std::span<const measured::ReferenceRow> rows);

}  // namespace tilecast::sim::views
