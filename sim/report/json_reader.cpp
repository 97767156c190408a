#include "sim/report/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilecast::sim::report {
namespace {

// Scans text that is valid JSON.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Moves from the start of a value to the start of its member `step`.
  void enter(const JsonStep& step) {
    blanks();
    ++at_;  // { or [
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      for (std::size_t i = 0; i < *index; ++i) next();
    } else {
      while (key() != std::get<std::string>(step)) next();
    }
    blanks();
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  void past(char c) {
    blanks();
    if (at_ < text_.size() && text_[at_] == c) ++at_;
  }
  std::string key() {
    blanks();
    const std::size_t start = at_;
    string();
    const std::string quoted(text_.substr(start, at_ - start));
    past(':');
    return Json::parse(quoted).get<std::string>();
  }
  void string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
  }
  // Moves past a value and the comma after it.
  void next() {
    blanks();
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        string();
        --at_;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return;
        --depth;
      } else if (c == ',' && depth == 0) {
        ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string path_text(const std::vector<JsonStep>& path) {
  std::string text;
  for (const JsonStep& step : path) {
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      text += fmt::format("[{}]", *index);
    } else {
      text += (text.empty() ? "" : ".") + std::get<std::string>(step);
    }
  }
  return text;
}

std::string_view kind_of(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_string()) return "text";
  if (json.is_number()) return "a number";
  if (json.is_boolean()) return "true or false";
  return json.is_array() ? "a list" : "an object";
}

constexpr std::string_view kBeyond = "got a number beyond double precision";

Json parse_json(const base::SourceText& text) {
  constexpr std::size_t kDeepest = 64;  // results have 8 levels; readers of values are recursive
  if (const auto at = deeper_than(text.text(), kDeepest)) {
    throw Error(text.describe(*at, fmt::format("nested deeper than {} levels", kDeepest)));
  }
  try {
    return Json::parse(text.text());
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.text().size());
    throw Error(
        text.describe(at, "not JSON; expected a result that tilecast wrote with --format json"));
  } catch (const Json::out_of_range& error) {  // its text ends in the number, quoted
    const std::string_view what = error.what();
    const std::size_t from = what.find('\'') + 1;
    const std::size_t at = text.text().find(what.substr(from, what.rfind('\'') - from));
    throw Error(text.describe(std::min(at, text.text().size()), kBeyond));
  }
}

}  // namespace

std::optional<std::size_t> deeper_than(std::string_view json, std::size_t levels) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++at;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > levels) return at;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return std::nullopt;
}

std::size_t offset_of(std::string_view text, const std::vector<JsonStep>& path) {
  JsonScanner scanner(text);
  for (const JsonStep& step : path) scanner.enter(step);
  return std::min(scanner.at(), text.size());
}

Document::Document(base::SourceText text) : text_(std::move(text)), json_(parse_json(text_)) {}

Error Value::error(std::string_view message) const {
  const std::string where = path_text(path_);
  return Error(document_->text().describe(
      offset_of(document_->text().text(), path_),
      where.empty() ? std::string(message) : fmt::format("{}: {}", where, message)));
}

Error Value::unexpected(std::string_view expected) const {
  return error(fmt::format("got {}, expected {}", kind_of(*json_), expected));
}

const Json* Value::find(std::string_view key) const {
  if (!json_->is_object()) throw unexpected("an object");
  const auto found = json_->find(std::string(key));
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

Value Value::at(std::string_view key) const {
  const Json* member = find(key);
  if (member == nullptr) {
    std::vector<std::string_view> keys;
    for (const auto& item : json_->items()) keys.push_back(item.key());
    const std::string near = base::nearest(key, keys);
    throw error(fmt::format("key '{}' is missing{}", key,
                            near.empty() ? "" : fmt::format("; there is '{}'", near)));
  }
  std::vector<JsonStep> path = path_;
  path.emplace_back(std::string(key));
  return {*document_, *member, std::move(path)};
}

double Value::number() const {
  if (!json_->is_number()) throw unexpected("a number");
  const double value = json_->get<double>();
  if (!std::isfinite(value)) throw error(kBeyond);
  return value;
}

std::string Value::text() const {
  if (!json_->is_string()) throw unexpected("text");
  return json_->get<std::string>();
}

std::vector<Value> Value::elements() const {
  if (!json_->is_array()) throw unexpected("a list");
  std::vector<Value> values;
  values.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i) {
    std::vector<JsonStep> path = path_;
    path.emplace_back(i);
    values.push_back({*document_, (*json_)[i], std::move(path)});
  }
  return values;
}

bool Value::truth(std::string_view key) const {
  const Value value = at(key);
  if (!value.json_->is_boolean()) throw value.unexpected("true or false");
  return value.json_->get<bool>();
}

Value Value::object(std::string_view key) const {
  Value value = at(key);
  if (!value.json_->is_object()) throw value.unexpected("an object");
  return value;
}

}  // namespace tilecast::sim::report
