// Declares the settings of a struct once: name, range, meaning. YAML reading, random search, model
// cards and --help are all driven by this table.
//
//   const ParameterTable<GbtSpec>& table = gbt_parameters();
//   table.set(spec, "depth", "8");                      // throws Error if out of range
//   for (const auto& p : table.parameters()) p.get(spec);
//
// Values are text, as in YAML. Thread-safe once built.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned {

// Valid values: a number in [low, high] (integer or real), a choice, or yes / no.
struct ParameterRange {
  enum class Kind { kInteger, kReal, kChoice, kBoolean };
  Kind kind = Kind::kReal;
  double low = 0, high = 0;
  std::vector<std::string_view> choices = {};

  [[nodiscard]] std::string describe() const;  // "whole number from 1 to 12", "sage, gat or none"
};

// Parsers that throw Error "got 'x', expected RANGE".
[[nodiscard]] double parse_parameter(std::string_view text, const ParameterRange& range);
[[nodiscard]] std::size_t parse_choice(std::string_view text, const ParameterRange& range);
[[nodiscard]] std::string parameter_text(double value);  // shortest that parses to the same value
// Throws Error "unknown parameter 'dept'; did you mean 'depth'?".
[[noreturn]] void unknown_parameter(std::string_view name,
                                    const std::vector<std::string_view>& known);

template <class Spec>
struct Parameter {
  std::string_view name, doc;
  ParameterRange range;
  std::function<void(Spec&, std::string_view)> set;
  std::function<std::string(const Spec&)> get;
};

template <class Spec>
class ParameterTable {
 public:
  template <class Number>
  ParameterTable& number(std::string_view name, Number Spec::*member, double low, double high,
                         std::string_view doc) {
    const ParameterRange range{.kind = std::is_integral_v<Number> ? ParameterRange::Kind::kInteger
                                                                  : ParameterRange::Kind::kReal,
                               .low = low,
                               .high = high};
    rows_.push_back(
        {name, doc, range,
         [member, range](Spec& spec, std::string_view text) {
           spec.*member = static_cast<Number>(parse_parameter(text, range));
         },
         [member](const Spec& spec) { return parameter_text(static_cast<double>(spec.*member)); }});
    return *this;
  }

  // `choices` are indexed by the enumerators' values, which start at 0.
  template <class Enum>
  ParameterTable& choice(std::string_view name, Enum Spec::*member,
                         std::span<const std::string_view> choices, std::string_view doc) {
    const ParameterRange range{.kind = ParameterRange::Kind::kChoice,
                               .choices = {choices.begin(), choices.end()}};
    rows_.push_back({name, doc, range,
                     [member, range](Spec& spec, std::string_view text) {
                       spec.*member = static_cast<Enum>(parse_choice(text, range));
                     },
                     [member, range](const Spec& spec) {
                       return std::string(range.choices[static_cast<std::size_t>(spec.*member)]);
                     }});
    return *this;
  }

  ParameterTable& flag(std::string_view name, bool Spec::*member, std::string_view doc) {
    const ParameterRange range{.kind = ParameterRange::Kind::kBoolean, .choices = {"no", "yes"}};
    rows_.push_back({name, doc, range,
                     [member, range](Spec& spec, std::string_view text) {
                       spec.*member = parse_choice(text, range) == 1;
                     },
                     [member](const Spec& spec) { return spec.*member ? "yes" : "no"; }});
    return *this;
  }

  [[nodiscard]] std::span<const Parameter<Spec>> parameters() const { return rows_; }
  [[nodiscard]] const Parameter<Spec>* find(std::string_view name) const {
    for (const Parameter<Spec>& row : rows_) {
      if (row.name == name) return &row;
    }
    return nullptr;
  }
  void set(Spec& spec, std::string_view name, std::string_view text) const {
    const Parameter<Spec>* row = find(name);
    if (row == nullptr) {
      std::vector<std::string_view> known;
      for (const Parameter<Spec>& each : rows_) known.push_back(each.name);
      unknown_parameter(name, known);
    }
    row->set(spec, text);
  }

 private:
  std::vector<Parameter<Spec>> rows_;
};

}  // namespace tilecast::learned
