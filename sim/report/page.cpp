#include "sim/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "sim/report/page_parts.h"
#include "sim/views/rows.h"

namespace tilecast::sim::report {
namespace {

using Json = nlohmann::ordered_json;

// Enough digits for reading values off a page, in a third of the bytes.
Json short_number(double value) {
  const double rounded = std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
  constexpr double kWhole = 1e7;
  if (std::abs(rounded) < kWhole && rounded == std::floor(rounded)) {
    return static_cast<std::int64_t>(rounded);
  }
  return rounded;
}

Json packed(const Json& json);
Json packed_records(const std::vector<const Json*>& records);

// The values of one key in all records: unchanged if numbers, by their keys if records, and each
// distinct value once otherwise.
Json packed_column(const std::vector<const Json*>& values) {
  const auto all = [&](const auto& is) {
    return std::ranges::all_of(values, [&](const Json* value) { return is(*value); });
  };
  Json out = Json::array();
  if (all([](const Json& value) { return value.is_number() || value.is_null(); })) {
    for (const Json* value : values) out.push_back(packed(*value));
    return out;
  }
  const auto same_keys = [&](const Json& value) {
    if (!value.is_object() || value.empty() || value.size() != values[0]->size()) return false;
    auto of = values[0]->items();
    return std::equal(of.begin(), of.end(), value.items().begin(),
                      [](const auto& a, const auto& b) { return a.key() == b.key(); });
  };
  if (all(same_keys)) return packed_records(values);
  std::map<std::string, std::size_t> known;
  Json words = Json::array();
  for (const Json* value : values) {
    const Json word = packed(*value);
    const auto [found, is_new] = known.emplace(views::json_line(word), known.size());
    if (is_new) words.push_back(word);
    out.push_back(found->second);
  }
  return {{"#words", std::move(words)}, {"at", std::move(out)}};
}

// One column per key, in the order of first appearance in the records; null if a record lacks it.
Json packed_records(const std::vector<const Json*>& records) {
  static const Json kNull;
  Json columns = Json::object();
  for (const Json* record : records) {
    for (const auto& item : record->items()) columns[item.key()] = nullptr;
  }
  std::vector<const Json*> values(records.size());
  for (const auto& item : columns.items()) {
    std::ranges::transform(records, values.begin(), [&](const Json* record) {
      const auto found = record->find(item.key());
      return found == record->end() ? &kNull : &*found;
    });
    item.value() = packed_column(values);
  }
  return {{"#columns", std::move(columns)}};
}

// Stores lists of many records as columns, in a tenth of the bytes. data.js reverses it.
Json packed(const Json& json) {
  constexpr std::size_t kMany = 8;
  if (json.is_number_float()) return short_number(json.get<double>());
  if (!json.is_structured()) return json;
  const bool are_records =
      std::ranges::all_of(json, [](const Json& each) { return each.is_object() && !each.empty(); });
  if (json.is_array() && json.size() >= kMany && are_records) {
    std::vector<const Json*> records;
    for (const Json& record : json) records.push_back(&record);
    return packed_records(records);
  }
  Json out = json;
  for (Json& value : out) value = packed(value);
  return out;
}

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

// JSON for a script element: without "</script" and "<!--".
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

// Returns the template up to "{{name}}" and removes both from `rest`.
std::string_view up_to(std::string_view& rest, std::string_view mark) {
  const std::size_t at = rest.find(mark);
  TC_CHECK(at != std::string_view::npos, "the template of the page has every mark, in order");
  const std::string_view text = rest.substr(0, at);
  rest.remove_prefix(at + mark.size());
  return text;
}

}  // namespace

std::string page_data(std::span<const Result> results, const PageOptions& options) {
  Json all = Json::array();
  for (const Result& result : results) {
    all.push_back({{"source", result.source},
                   {"written", result.written},
                   {"document", packed(result.document)}});
  }
  return views::json_line({{"title", options.title}, {"results", std::move(all)}});
}

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
