#include "hwdesc/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/source_text.h"
#include "base/text.h"

namespace tilecast::hwdesc {
namespace {

// value_si = number * multiplier / divisor; one of the two is 1, so that "86 ns" is exactly 86e-9.
struct Unit {
  std::string_view symbol;
  double multiplier = 1;
  double divisor = 1;
  bool printed = true;  // false: accepted but never printed
};

struct UnitFamily {
  std::string_view what;     // "a bandwidth"
  std::string_view example;  // "900 GB/s"
  std::span<const Unit> units;
};

constexpr double kKi = 1024.0;
constexpr Unit kTimeUnits[] = {
    {"s"}, {"ms", 1, 1e3}, {"us", 1, 1e6}, {"µs", 1, 1e6, false}, {"ns", 1, 1e9}, {"ps", 1, 1e12}};
constexpr Unit kCapacityUnits[] = {
    {"B"}, {"KiB", kKi}, {"MiB", kKi* kKi}, {"GiB", kKi* kKi* kKi}, {"TiB", kKi* kKi* kKi* kKi}};
constexpr Unit kBandwidthUnits[] = {
    {"B/s"}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
constexpr Unit kFrequencyUnits[] = {{"Hz"}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Unit kFlopRateUnits[] = {{"FLOP/s"},
                                   {"MFLOP/s", 1e6},
                                   {"GFLOP/s", 1e9},
                                   {"TFLOP/s", 1e12},
                                   {"PFLOP/s", 1e15},
                                   {"OP/s", 1, 1, false},
                                   {"GOP/s", 1e9, 1, false},
                                   {"TOP/s", 1e12, 1, false},
                                   {"POP/s", 1e15, 1, false}};
constexpr Unit kRatioUnits[] = {{""}, {"%", 1, 100, false}};
constexpr Unit kCountUnits[] = {{""}};
constexpr Unit kCycleUnits[] = {{"cycles"}, {"cycle", 1, 1, false}, {"", 1, 1, false}};
constexpr Unit kEnergyUnits[] = {{"J"},          {"mJ", 1, 1e3},  {"uJ", 1, 1e6},
                                 {"nJ", 1, 1e9}, {"pJ", 1, 1e12}, {"fJ", 1, 1e15}};
constexpr Unit kEnergyPerByteUnits[] = {{"J/B", 1, 1, false}, {"nJ/B", 1, 1e9}, {"pJ/B", 1, 1e12}};
constexpr Unit kPowerUnits[] = {{"W"}, {"mW", 1, 1e3}, {"kW", 1e3}};

constexpr UnitFamily kFamilies[] = {  // by UnitKind
    {"a time", "0.6 us", kTimeUnits},
    {"a capacity", "16 MiB", kCapacityUnits},
    {"a bandwidth", "900 GB/s", kBandwidthUnits},
    {"a frequency", "940 MHz", kFrequencyUnits},
    {"an operation rate", "61.6 TFLOP/s", kFlopRateUnits},
    {"a ratio", "0.85 or 85 %", kRatioUnits},
    {"a plain number", "4", kCountUnits},
    {"a number of cycles", "128 cycles", kCycleUnits},
    {"an energy", "0.9 pJ", kEnergyUnits},
    {"an energy per byte", "44 pJ/B", kEnergyPerByteUnits},
    {"a power", "72 W", kPowerUnits}};

const UnitFamily& family(UnitKind kind) {
  return kFamilies[static_cast<std::size_t>(kind)];
}

[[noreturn]] void reject(std::string_view text, const UnitFamily& wanted, std::string_view hint) {
  const std::size_t kShown = 60;
  throw Error(fmt::format("got '{}{}', expected {} such as {}; {}", text.substr(0, kShown),
                          text.size() > kShown ? "..." : "", wanted.what, wanted.example, hint));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Length of the decimal number at the start of `text`, 0 if there is none. Stricter than
// from_chars: no "inf", "nan", ".5", "5." or "010" (which YAML would read as octal).
std::size_t number_length(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at == whole || (text[whole] == '0' && at - whole > 1)) return 0;
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    for (++at; at < text.size() && is_digit(text[at]);) ++at;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_digit(text[digits])) {
      for (at = digits; at < text.size() && is_digit(text[at]);) ++at;
    }
  }
  return at;
}

std::string unit_hint(std::string_view symbol, UnitKind kind, const UnitFamily& wanted) {
  if (symbol.empty()) return "the unit is missing";
  if (kind == UnitKind::kCapacity &&
      (symbol == "KB" || symbol == "kB" || symbol == "MB" || symbol == "GB" || symbol == "TB")) {
    return fmt::format("is a {} 1000 or 1024 based? write {}iB", symbol,
                       symbol[0] == 'k' ? 'K' : symbol[0]);
  }
  if (kind == UnitKind::kBandwidth && symbol.ends_with("iB/s")) {
    return "rates are decimal here: 1 GB/s is 1e9 bytes per second";
  }
  if (kind == UnitKind::kBandwidth && (symbol.ends_with("b/s") || symbol.ends_with("bps"))) {
    return "bits or bytes? divide bits by 8 and write GB/s";
  }
  if (kind == UnitKind::kCount) return "this key has no unit";
  std::vector<std::string_view> known;
  for (const Unit& unit : wanted.units) {
    if (!unit.symbol.empty()) known.push_back(unit.symbol);
  }
  const std::string near = base::nearest(symbol, known);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return fmt::format("known units: {}", fmt::join(known, ", "));
}

// `number` with its unit, in as few digits as restore `value` exactly; empty if none do.
std::string exact_text(double number, const Unit& unit, double value) {
  constexpr int kCleanDigits = 15;  // a double always keeps these; hides 31.000000000000004
  for (std::string text :
       {fmt::format("{:.{}g}", number, kCleanDigits), fmt::format("{}", number)}) {
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (back * unit.multiplier / unit.divisor != value) continue;
    if (!unit.symbol.empty()) text += fmt::format(" {}", unit.symbol);
    return text;
  }
  return {};
}

}  // namespace

double parse_quantity(std::string_view text, UnitKind kind) {
  const UnitFamily wanted = family(kind);
  const std::string_view body = base::trim(text);
  const std::size_t length = number_length(body);
  if (length == 0) reject(text, wanted, "it does not start with a decimal number");
  double number = 0;
  const auto parsed = std::from_chars(body.data(), body.data() + length, number);
  if (parsed.ec != std::errc{}) reject(text, wanted, "the number is out of range");
  const std::string_view symbol = base::trim(body.substr(length));
  for (const Unit& unit : wanted.units) {
    if (unit.symbol != symbol) continue;
    const double value = number * unit.multiplier / unit.divisor;
    if (!std::isfinite(value)) reject(text, wanted, "the number is out of range");
    return value;
  }
  reject(text, wanted, unit_hint(symbol, kind, wanted));
}

std::string format_quantity(double value, UnitKind kind) {
  const double limit = kind == UnitKind::kCapacity ? kKi : 1000;
  std::string best;
  for (const Unit& unit : family(kind).units) {
    if (!unit.printed) continue;
    const double number = value * unit.divisor / unit.multiplier;
    std::string text = exact_text(number, unit, value);
    if (text.empty()) continue;
    if (std::abs(number) >= 1 && std::abs(number) < limit) return text;
    const bool neater = text.find('e') == std::string::npos && best.find('e') != std::string::npos;
    if (best.empty() || neater || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace tilecast::hwdesc
