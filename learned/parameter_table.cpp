#include "learned/parameter_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/source_text.h"

namespace tilecast::learned {
namespace {

// "sage, gat or none"
std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string hint(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string near = base::nearest(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

}  // namespace

std::string ParameterRange::describe() const {
  switch (kind) {
    case Kind::kInteger:
      return fmt::format("whole number from {} to {}", parameter_text(low), parameter_text(high));
    case Kind::kReal:
      return fmt::format("number from {} to {}", parameter_text(low), parameter_text(high));
    case Kind::kChoice:
      return listed(choices);
    case Kind::kBoolean:
      return "yes or no";
  }
  TC_CHECK(false, "a kind of range without a description");
}

double parse_parameter(std::string_view text, const ParameterRange& range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, value);
  const bool is_number = failure == std::errc() && stopped == end;
  const bool is_whole = range.kind != ParameterRange::Kind::kInteger || value == std::trunc(value);
  if (is_number && is_whole && value >= range.low && value <= range.high) return value;
  throw Error(fmt::format("got '{}', expected {}", text, range.describe()));
}

std::size_t parse_choice(std::string_view text, const ParameterRange& range) {
  for (std::size_t i = 0; i < range.choices.size(); ++i) {
    if (range.choices[i] == text) return i;
  }
  const bool is_boolean = range.kind == ParameterRange::Kind::kBoolean;
  if (is_boolean && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
  throw Error(
      fmt::format("got '{}', expected {}{}", text, range.describe(), hint(text, range.choices)));
}

std::string parameter_text(double value) {
  return fmt::format("{}", value);
}

void unknown_parameter(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string near = hint(name, known);
  throw Error(
      fmt::format("unknown parameter '{}'{}", name,
                  near.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : near));
}

}  // namespace tilecast::learned
