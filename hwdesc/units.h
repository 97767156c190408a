// Quantities as types: only meaningful sums, products and quotients compile.
//
//   Seconds t = Bytes{1e6} / BytesPerSecond{900e9};
//
// Each type is a double in the SI base unit of its name. `value` is public for formulas that leave
// the type system (features, CSV); name such doubles with their unit.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace tilecast {

template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity{a.value + b.value};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity{a.value - b.value};
  }
  friend constexpr Quantity operator*(Quantity a, double s) { return Quantity{a.value * s}; }
  friend constexpr Quantity operator*(double s, Quantity a) { return Quantity{a.value * s}; }
  friend constexpr Quantity operator/(Quantity a, double s) { return Quantity{a.value / s}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  constexpr Quantity& operator+=(Quantity b) {
    value += b.value;
    return *this;
  }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;  // operations; a multiply-add is 2
using Hertz = Quantity<struct HertzTag>;
using Cycles = Quantity<struct CyclesTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;  // decimal: 1 GB/s = 1e9 B/s
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using Joules = Quantity<struct JoulesTag>;
using JoulesPerByte = Quantity<struct JoulesPerByteTag>;
using Watts = Quantity<struct WattsTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return Seconds{b.value / r.value};
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r) {
  return Seconds{f.value / r.value};
}
constexpr Seconds operator/(Cycles c, Hertz f) {
  return Seconds{c.value / f.value};
}
constexpr BytesPerSecond operator/(Bytes b, Seconds t) {
  return BytesPerSecond{b.value / t.value};
}
constexpr FlopsPerSecond operator/(Flops f, Seconds t) {
  return FlopsPerSecond{f.value / t.value};
}
constexpr Bytes operator*(BytesPerSecond r, Seconds t) {
  return Bytes{r.value * t.value};
}
constexpr Cycles operator*(Hertz f, Seconds t) {
  return Cycles{f.value * t.value};
}
constexpr Joules operator*(Bytes b, JoulesPerByte e) {
  return Joules{b.value * e.value};
}
constexpr Joules operator*(Watts p, Seconds t) {
  return Joules{p.value * t.value};
}
constexpr Watts operator/(Joules e, Seconds t) {
  return Watts{e.value / t.value};
}
constexpr Seconds operator/(Joules e, Watts p) {
  return Seconds{e.value / p.value};
}

namespace hwdesc {

// Parses "900 GB/s", "16 MiB", "940 MHz", "0.6 us", "61.6 TFLOP/s", "85 %", "0.9 pJ", "44 pJ/B",
// "72 W" to SI base units. `kind`: the expected quantity. Throws Error with the text, the
// expectation and an example. Capacities need Ki/Mi/Gi (KB, MB, GB are rejected: 1000 or 1024?);
// rates are decimal (GiB/s is rejected).
enum class UnitKind {
  kTime,
  kCapacity,
  kBandwidth,
  kFrequency,
  kFlopRate,
  kRatio,
  kCount,
  kCycles,
  kEnergy,
  kEnergyPerByte,
  kPower
};
[[nodiscard]] double parse_quantity(std::string_view text, UnitKind kind);
// The shortest exact readable form: 9e11, kBandwidth -> "900 GB/s".
[[nodiscard]] std::string format_quantity(double value, UnitKind kind);

}  // namespace hwdesc
}  // namespace tilecast
