#include "base/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/locale/utf.hpp>
#include <chrono>

namespace tilecast::base {

std::string_view trim(std::string_view text, std::string_view blanks) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string printable(std::string_view text) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  constexpr boost::locale::utf::code_point kFirstPrintable = 0x20;
  constexpr boost::locale::utf::code_point kFirstDelete = 0x7f;  // and the second control block
  constexpr boost::locale::utf::code_point kLastDelete = 0x9f;
  std::string out;
  out.reserve(text.size());
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* end = at;
    const boost::locale::utf::code_point code = Utf8::decode(end, text.data() + text.size());
    const bool valid = boost::locale::utf::is_valid_codepoint(code);
    if (!valid) end = at + 1;
    if (valid && (code >= kFirstPrintable || code == '\n') &&
        (code < kFirstDelete || code > kLastDelete)) {
      out.append(at, end);
    } else if (code == '\t') {
      out.push_back(' ');
    } else {
      for (const char* byte = at; byte != end; ++byte) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(*byte));
      }
    }
    at = end;
  }
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    const auto next = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : 0);
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F in UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += json[i];
    }
  }
  return out;
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", std::chrono::system_clock::now());
}

}  // namespace tilecast::base
