#include "learned/parameter_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "diag/error.h"
#include "diag/source_text.h"

namespace tilecast::learned {
namespace {

[[noreturn]] void refuse(std::string_view text, const ParameterRange& range) {
  throw Error(fmt::format("got '{}', expected {}", text, range.describe()));
}

}  // namespace

std::string ParameterRange::describe() const {
  switch (kind) {
    case Kind::kInteger:
      return fmt::format("a whole number from {} to {}", low, high);
    case Kind::kReal:
      return fmt::format("a number from {} to {}", low, high);
    case Kind::kChoice:
    case Kind::kBoolean:
      return fmt::format("one of {}", fmt::join(choices, ", "));
  }
  return "";
}

double parse_parameter(std::string_view text, const ParameterRange& range) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = range.kind == ParameterRange::Kind::kInteger;
  if (failure != std::errc() || end != text.data() + text.size() || !(value >= range.low) ||
      !(value <= range.high) || (whole && value != std::floor(value))) {
    refuse(text, range);
  }
  return value;
}

std::size_t parse_choice(std::string_view text, const ParameterRange& range) {
  for (std::size_t i = 0; i < range.choices.size(); ++i) {
    if (range.choices[i] == text) return i;
  }
  const bool boolean = range.kind == ParameterRange::Kind::kBoolean;
  if (boolean && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
  refuse(text, range);
}

std::string parameter_text(double value) {
  return fmt::format("{}", value);
}

void unknown_parameter(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string near = diag::nearest(name, known);
  throw Error(fmt::format("unknown parameter '{}'; {}", name,
                          near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                                       : fmt::format("did you mean '{}'?", near)));
}

}  // namespace tilecast::learned
