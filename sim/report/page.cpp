#include "sim/report/page.h"

#include "base/error.h"
#include "sim/report/page_parts.h"

namespace tilecast::sim::report {
namespace {

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON inside a script element: no "</script" and no "<!--".
std::string escaped_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// The template up to "{{name}}", which is passed over.
std::string_view up_to(std::string_view& rest, std::string_view mark) {
  const std::size_t at = rest.find(mark);
  TC_CHECK(at != std::string_view::npos, "the template of the page has every mark, in order");
  const std::string_view text = rest.substr(0, at);
  rest.remove_prefix(at + mark.size());
  return text;
}

}  // namespace

std::string page(std::span<const Result> results, const PageOptions& options) {
  const PageParts parts = page_parts();
  if (parts.d3.empty()) {
    throw Error(
        "report: this tilecast was built without D3, which draws its plots; install the package "
        "node-d3 (scripts/packages) and build again");
  }
  std::string_view rest = parts.html;
  std::string out(up_to(rest, "{{title}}"));
  out += escaped_html(options.title);
  out += up_to(rest, "{{style}}");
  out += parts.css;
  out += up_to(rest, "{{data}}");
  out += escaped_script(page_data(results, options));
  out += up_to(rest, "{{d3}}");
  out += parts.d3;
  out += up_to(rest, "{{script}}");
  out += parts.script;
  out += rest;
  return out;
}

}  // namespace tilecast::sim::report
