#include "hwdesc/yaml_text.h"

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

std::string yaml_text(std::string_view text, std::string_view where) {
  require_plain_text(text, Origin{std::string(where)});
  constexpr std::string_view kSpecial = "\n\r\t\x7f\"\\";
  constexpr std::string_view kEscapes[] = {"\\n", "\\r", "\\t", "\\x7f", "\\\"", "\\\\"};
  std::string result = "\"";
  for (const char c : text) {
    const std::size_t at = kSpecial.find(c);
    result += at == std::string_view::npos ? std::string_view(&c, 1) : kEscapes[at];
  }
  return result + '"';
}

}  // namespace tilecast::hwdesc
