#include "sim/report/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "measured/csv.h"
#include "sim/report/json_reader.h"
#include "sim/views/rows.h"

namespace tilecast::sim::report {
namespace {

// Members of an object, by type; one whose name ends in '?' may be missing or null.
struct Needed {
  std::vector<std::string_view> text = {}, size = {}, number = {}, truth = {}, texts = {};
  std::map<std::string_view, Needed> object = {}, list = {};  // members are objects
};

const Needed& simulations() {
  static const Needed kernel{
      .text = {"name", "opcode", "class", "lane", "computation?", "content?", "scope?"},
      .size = {"multiplicity", "time_s", "total_s", "start_s", "end_s"},
      .truth = {"skipped"}};
  static const Needed roofs{
      .list = {{"peaks", {.text = {"unit", "dtype"}, .size = {"flops_per_s"}}},
               {"memory", {.text = {"name"}, .size = {"read_bytes_per_s"}}}}};
  static const Needed program{
      .text = {"file", "program", "device", "model?"},
      .size = {"time_s", "timeline_s", "host_dispatch_s"},
      .number = {"low_s?", "high_s?", "energy_J?", "mfu?", "main_memory_share?", "tokens_per_s?"},
      .object = {{"memory?", {.number = {"peak_bytes?", "capacity_bytes?"}}}, {"roofs?", roofs}},
      .list = {{"kernels", kernel}, {"notes", {.text = {"what"}, .number = {"count?"}}}}};
  static const Needed root{.text = {"version?"}, .list = {{"programs", program}}};
  return root;
}

// For kernels that were not skipped.
const Needed& estimate() {
  static const Needed needed{
      .text = {"bound", "next_bound"},
      .size = {"next_time_s", "speed_of_light_s", "flops", "hbm_read_bytes", "hbm_write_bytes"},
      .number = {"low_s?", "high_s?", "weight?"},
      .texts = {"flags?"},
      .object = {{"bounds_s", {}}, {"tile?", {}}}};
  return needed;
}

const Needed& comparison() {
  static const Needed time{
      .text = {"side", "bound?"}, .size = {"time_s"}, .number = {"low_s?", "high_s?", "spread_s?"}};
  static const Needed row{.text = {"group", "name", "class", "tile"},
                          .size = {"launches"},
                          .object = {{"profile?", {.truth = {"overlaps"}}}},
                          .list = {{"times", time}}};
  static const Needed change{
      .text = {"name?"}, .size = {"before_s", "after_s"}, .number = {"change_s"}};
  static const Needed layer{
      .text = {"name"}, .size = {"depth", "before_s", "after_s"}, .number = {"change_s"}};
  static const Needed total{.text = {"name"}, .number = {"before?", "after?"}};
  static const Needed difference{
      .object = {{"before", {.text = {"name"}}}, {"after", {.text = {"name"}}}},
      .list = {{"totals", total}, {"resources", change}, {"layers", layer}, {"kernels", change}}};
  static const Needed root{.texts = {"notes"},
                           .object = {{"difference?", difference}},
                           .list = {{"sides", {.text = {"name", "kind", "device", "against"}}},
                                    {"rows", row},
                                    {"unmatched?", {.text = {"name"}}}}};
  return root;
}

const Needed& evaluation() {
  static const Needed score{.text = {"by", "stratum", "model", "metric"},
                            .size = {"rows"},
                            .number = {"value?", "low?", "high?"}};
  static const Needed set{.text = {"name", "measured_on", "source"}, .number = {"rows"}};
  static const Needed root{.texts = {"notes"}, .list = {{"sets", set}, {"scores", score}}};
  return root;
}

// Calls use(key) for required members and for optional members that exist.
template <class Names, class Use>
void each(const Value& object, const Names& names, const Use& use) {
  for (std::string_view name : names) {
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    if (!optional || object.has(name)) use(name);
  }
}

double size_of(const Value& object, std::string_view key) {
  const double value = object.number(key);
  if (value < 0) throw object.error(fmt::format("{}: got {}, expected 0 or more", key, value));
  return value;
}

void check(const Value& object, const Needed& needed) {
  each(object, needed.text, [&](auto key) { static_cast<void>(object.text(key)); });
  each(object, needed.size, [&](auto key) { static_cast<void>(size_of(object, key)); });
  each(object, needed.number, [&](auto key) { static_cast<void>(object.number(key)); });
  each(object, needed.truth, [&](auto key) { static_cast<void>(object.truth(key)); });
  each(object, needed.texts, [&](auto key) {
    for (const Value& text : object.list(key)) static_cast<void>(text.text());
  });
  for (const auto& [name, of] : needed.object) {
    each(object, std::array{name}, [&](auto key) { check(object.object(key), of); });
  }
  for (const auto& [name, of] : needed.list) {
    each(object, std::array{name}, [&](auto key) {
      for (const Value& record : object.list(key)) check(record, of);
    });
  }
}

// The kernels must sum to the total, so that attributions add up to it.
void check_kernels(const Value& program) {
  constexpr double kRounding = 1e-9;  // for sums of up to millions of terms
  double sum = 0;
  for (const Value& kernel : program.list("kernels")) {
    sum += kernel.number("total_s");
    if (!kernel.truth("skipped")) check(kernel, estimate());
  }
  const double time_s = program.number("time_s");
  if (std::abs(sum - time_s) > kRounding * std::max(sum, time_s)) {
    throw program.error(fmt::format(
        "time_s: got {} s, but its kernels' total_s add up to {} s; was the file edited?", time_s,
        sum));
  }
}

// Last modification of the file, to the minute; "" if the system does not provide it.
std::string minute_written(const std::string& path) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(path, failure);
  if (failure) return "";
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(time));
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(seconds));
}

// Columns of evaluate --rows before those of the models.
constexpr std::string_view kFixed[] = {"set",   "line", "work",       "class",
                                       "split", "tile", "measured_ns"};

void check_nanoseconds(const measured::CsvTable& table, const std::string& column) {
  for (const measured::CsvRow& row : table.rows) {
    const std::string_view cell = table.cell(row, column);
    const auto value = base::parse_number(cell);
    if (cell.empty() || (value && *value >= 0)) continue;
    throw Error("{}: got '{}', expected nanoseconds", table.where(row, column),
                base::printable(cell));
  }
}

Json read_evaluated_rows(const base::SourceText& text) {
  if (!text.text().starts_with(fmt::format("{}", fmt::join(kFixed, ",")))) {
    const bool is_yaml = text.file().ends_with(".yaml");
    throw Error(text.describe(
        0, fmt::format("neither a result in JSON (--format json) nor the rows of tilecast evaluate "
                       "--rows{}",
                       is_yaml ? "; a description gives one by simulate -d ./FILE.yaml -f json, a "
                                 "study by sweep FILE.yaml -f json"
                               : "")));
  }
  const measured::CsvTable table = measured::read_csv(text);
  for (std::size_t i = std::size(kFixed) - 1; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    if (i >= std::size(kFixed) && !column.ends_with(" ns")) {
      throw Error("{}:1: column '{}': expected times of a model, as in 'hybrid ns'", table.file,
                  base::printable(column));
    }
    check_nanoseconds(table, column);
  }
  return views::rows_document(table, "tilecast.evaluate_rows/1");
}

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

using Escapes = std::map<char, std::string_view>;

std::string escaped(std::string_view text, const Escapes& escapes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto found = escapes.find(c);
    if (found == escapes.end()) {
      out += c;
    } else {
      out += found->second;
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

void check_needed(const Value& root, std::string_view schema) {
  if (schema == "tilecast.compare/1") check(root, comparison());
  if (schema == "tilecast.evaluate/1") check(root, evaluation());
  if (schema.starts_with("tilecast.sweep/")) check(root, {.texts = {"objectives?", "axes?"}});
  if (!schema.starts_with("tilecast.simulate/")) return;
  check(root, simulations());
  const std::vector<Value> programs = root.list("programs");
  if (programs.empty()) throw root.error("programs: got none, expected one or more");
  for (const Value& program : programs) check_kernels(program);
}

Result read_result(base::SourceText text) {
  const std::string source = text.file();
  const std::size_t first = text.text().find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw Error(text.describe(0, "got an empty file"));
  if (text.text()[first] != '{' && text.text()[first] != '[') {
    return {source, "", read_evaluated_rows(text)};
  }
  const Document document(std::move(text));
  const Value root = document.root();
  const std::string schema = root.text("schema");
  const bool is_result = schema.starts_with("tilecast.") && schema.ends_with("/1");
  if (!is_result && schema != "tilecast.simulate/2" && schema != "tilecast.sweep/2") {
    throw root.error(fmt::format(
        "schema: got '{}', expected a result of tilecast (tilecast.simulate/2, ...)", schema));
  }
  check_needed(root, schema);
  return {source, "", root.json()};
}

Result read_result_file(const std::string& path) {
  Result result = read_result(base::SourceText::read_file(path));
  result.written = minute_written(path);
  return result;
}

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
  out += escaped(
      options.title,
      Escapes{{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
  out += up_to(rest, "{{style}}");
  out += parts.css;
  out += up_to(rest, "{{data}}");
  // JSON for a script element: without "</script" and "<!--".
  out += escaped(page_data(results, options), Escapes{{'<', "\\u003c"}});
  out += up_to(rest, "{{d3}}");
  out += parts.d3;
  out += up_to(rest, "{{script}}");
  out += parts.script;
  out += rest;
  return out;
}

}  // namespace tilecast::sim::report
