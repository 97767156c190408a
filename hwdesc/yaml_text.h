// Quotes a text as a YAML scalar that hwdesc/config_reader.h reads back unchanged. Pure.
//
//   yaml_text("a \"b\"\n", "manifest") == R"("a \"b\"\n")"
#pragma once

#include <string>
#include <string_view>

namespace tilecast::hwdesc {

// Double-quoted, on one line. Throws Error `where: got the byte ...` for bytes that the reader
// rejects: invalid UTF-8, and control characters other than tab and line ends.
[[nodiscard]] std::string yaml_text(std::string_view text, std::string_view where);

}  // namespace tilecast::hwdesc
