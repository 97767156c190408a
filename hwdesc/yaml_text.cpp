#include "hwdesc/yaml_text.h"

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

std::string yaml_text(std::string_view text, std::string_view where) {
  require_plain_text(text, std::string(where));
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\x7f':
        result += "\\x7f";
        break;
      case '"':
      case '\\':
        result += '\\';
        [[fallthrough]];
      default:
        result += c;
    }
  }
  return result + '"';
}

}  // namespace tilecast::hwdesc
