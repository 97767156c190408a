#include "measured/importers/tokamax_modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::measured {
namespace {

using nlohmann::json;

struct Array {
  std::string type;
  std::vector<std::int64_t> dims;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}[{}]", type, fmt::join(dims, ","));
  }
};

[[noreturn]] void bad_key(std::string_view name, std::string_view expected) {
  throw Error(fmt::format("key '{}': expected {}", name, expected));
}

const json& member(const json& key, const char* name) {
  const auto found = key.find(name);
  if (found == key.end()) bad_key(name, "it to be there");
  return *found;
}

// "bf16[1,1024]" of at least `rank` extents.
Array array_of(const json& key, const char* name, std::size_t rank) {
  const json& value = member(key, name);
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const std::size_t open = text.find('[');
  Array array{text.substr(0, open), {}};
  if (open == std::string::npos || !text.ends_with(']')) bad_key(name, "an array as bf16[8,128]");
  for (std::size_t at = open + 1; at < text.size();) {
    const std::size_t end = text.find_first_of(",]", at);
    const double extent =
        base::parse_number(std::string_view(text).substr(at, end - at)).value_or(0);
    if (!(extent >= 1 && extent <= 1e9) || extent != std::floor(extent)) {
      bad_key(name, "whole extents of 1 to 1e9");
    }
    array.dims.push_back(static_cast<std::int64_t>(extent));
    at = end + 1;
  }
  if (array.dims.size() < rank) bad_key(name, fmt::format("at least {} extents", rank));
  return array;
}

std::int64_t elements_of(const Array& array) {
  double count = 1;
  for (const std::int64_t extent : array.dims) count *= static_cast<double>(extent);
  if (count > 1e12) throw Error(fmt::format("{}: more than 1e12 elements", array.text()));
  return static_cast<std::int64_t>(count);
}

bool truth_of(const json& key, const char* name) {
  const json& value = member(key, name);
  if (!value.is_boolean()) bad_key(name, "true or false");
  return value.get<bool>();
}

// By the last part of JAX's name: what makes `active` of `gate`, {half} the type of both.
constexpr std::pair<std::string_view, std::string_view> kActivations[] = {
    {"none", "  active = {half} copy(gate)\n"},
    {"sigmoid", "  active = {half} logistic(gate)\n"},
    {"tanh", "  active = {half} tanh(gate)\n"},
    {"relu",
     "  zero = f32[] constant(0)\n  zeros = {half} broadcast(zero), dimensions={{}}\n"
     "  active = {half} maximum(gate, zeros)\n"},
    {"silu", "  open = {half} logistic(gate)\n  active = {half} multiply(gate, open)\n"},
    {"swish", "  open = {half} logistic(gate)\n  active = {half} multiply(gate, open)\n"},
    {"gelu",
     "  square = {half} multiply(gate, gate)\n  cube = {half} multiply(square, gate)\n"
     "  sum = {half} add(gate, cube)\n  bent = {half} tanh(sum)\n"
     "  active = {half} multiply(gate, bent)\n"}};

// Of one gated linear unit: [m,k] x [k,2n].
struct GatedUnit {
  std::int64_t m = 1, k = 1, n = 1;
  std::string type;
  bool tiled = true, copied = false, residuals = false;
  std::string_view activation;

  [[nodiscard]] bool narrow() const { return type == "bf16"; }
  [[nodiscard]] std::string array(std::string_view of, std::int64_t columns) const {
    return fmt::format("{}[{},{}]", of, m, columns);
  }
  [[nodiscard]] std::string product() const {
    return array(tiled || !narrow() ? "f32" : "bf16", 2 * n);
  }
  [[nodiscard]] std::string copy() const { return array(type, 2 * n); }
};

// What runs before the gate: the product's kernel, in front of the entry, and the entry's lines.
std::pair<std::string, std::string> product_lines(const GatedUnit& unit) {
  const std::string parameters =
      fmt::format("  x = {} parameter(0)\n  weights = {}[{},{}] parameter(1)\n",
                  unit.array(unit.type, unit.k), unit.type, unit.k, 2 * unit.n);
  std::string lines = parameters;
  if (!unit.narrow()) {
    lines +=
        fmt::format("  narrow_x = {} convert(x)\n  narrow_weights = bf16[{},{}] convert(weights)\n",
                    unit.array("bf16", unit.k), unit.k, 2 * unit.n);
  }
  lines += fmt::format(
      "  {}product = {} dot({}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
      unit.tiled ? "ROOT " : "", unit.product(),
      unit.narrow() ? "x, weights" : "narrow_x, narrow_weights");
  if (!unit.tiled) return {"", lines};
  return {"product_fusion {\n" + lines + "}\n\n",
          parameters + "  product = " + unit.product() +
              " fusion(x, weights), kind=kOutput, calls=product_fusion\n"};
}

std::string gate_fusion(const GatedUnit& unit) {
  const std::string half = unit.array("f32", unit.n);
  return fmt::format(
             "gate_fusion {{\n  product = {} parameter(0)\n  wide = {} convert(product)\n"
             "  gate = {} slice(wide), slice={{[0:{}],[0:{}]}}\n"
             "  linear = {} slice(wide), slice={{[0:{}],[{}:{}]}}\n",
             unit.copied ? unit.copy() : unit.product(), unit.array("f32", 2 * unit.n), half,
             unit.m, unit.n, half, unit.m, unit.n, 2 * unit.n) +
         fmt::format(fmt::runtime(unit.activation), fmt::arg("half", half)) +
         fmt::format(
             "  gated = {} multiply(active, linear)\n  ROOT out = {} convert(gated)\n}}\n\n", half,
             unit.array(unit.type, unit.n));
}

std::string module_text(const GatedUnit& unit) {
  const auto [fusion, lines] = product_lines(unit);
  const std::string out = unit.array(unit.type, unit.n);
  const std::string_view last = unit.copied ? "copied" : "product";
  std::string text = "HloModule gated_linear_unit, is_scheduled=true\n\n" + fusion +
                     gate_fusion(unit) + "ENTRY main {\n" + lines;
  if (unit.copied) {
    text +=
        fmt::format("  copied = {} {}(product)\n", unit.copy(), unit.narrow() ? "convert" : "copy");
  }
  text += fmt::format("  {}out = {} fusion({}), kind=kLoop, calls=gate_fusion\n",
                      unit.residuals ? "" : "ROOT ", out, last);
  if (unit.residuals) {
    text += fmt::format("  ROOT both = ({}, {}) tuple(out, {})\n", out, unit.copy(), last);
  }
  return text + "}\n";
}

TokamaxModule gated_linear_unit(const json& key, bool tiled) {
  const Array x = array_of(key, "x", 2), weights = array_of(key, "weights", 3);
  const json& named = member(key, "activation");
  const std::string name = named.is_string() ? named.get<std::string>() : "none";
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  const auto activation =
      std::ranges::find(kActivations, last, [](const auto& known) { return known.first; });
  if (activation == std::end(kActivations)) return {{}, fmt::format("activation {}", last)};
  if (const json& precision = member(key, "precision");
      precision != "BF16_BF16_F32" && precision != "DEFAULT") {
    return {{}, fmt::format("precision {}", precision.dump())};
  }
  GatedUnit unit{.k = x.dims.back(),
                 .n = weights.dims.back(),
                 .type = x.type,
                 .tiled = tiled,
                 .residuals = truth_of(key, "return_residuals"),
                 .activation = activation->second};
  unit.m = elements_of(x) / unit.k;
  unit.copied = tiled && (unit.residuals || x.dims.size() != 4 || x.dims.front() != 1);
  return {module_text(unit), {}};
}

// The lines of a normalisation; each value has a name of its own.
class NormalizationText {
 public:
  NormalizationText(const Array& x, std::size_t axis) : x_(x), axis_(axis) {
    std::vector<std::int64_t> kept_dims;
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
      if (i == axis) continue;
      kept_.push_back(i);
      kept_dims.push_back(x.dims[i]);
    }
    wide_ = Array{"f32", x.dims}.text();
    row_ = Array{"f32", kept_dims}.text();
    text_ = fmt::format(
        "  x = {} parameter(0)\n  wide = {} convert(x)\n  zero = f32[] constant(0)\n"
        "  share = f32[] constant({:.9g})\n  shares = {} broadcast(share), dimensions={{}}\n",
        x.text(), wide_, 1.0 / static_cast<double>(x.dims[axis]), row_);
  }

  // `name`: the mean of `value` over the axis.
  void mean(std::string_view name, std::string_view value) {
    text_ += fmt::format(
        "  {0}_sum = {1} reduce({2}, zero), dimensions={{{3}}}, to_apply=added\n"
        "  {0} = {1} multiply({0}_sum, shares)\n",
        name, row_, value, axis_);
  }
  // `name`: `opcode` of `value` and a value per row.
  void with_rows(std::string_view name, std::string_view opcode, std::string_view value,
                 std::string_view rows) {
    text_ += fmt::format(
        "  {0}_rows = {1} broadcast({2}), dimensions={{{3}}}\n"
        "  {0} = {1} {4}({5}, {0}_rows)\n",
        name, wide_, rows, fmt::join(kept_, ","), opcode, value);
  }
  // `name`: `opcode` of `value` and the argument `array`, which has a value per place on the axis.
  void with_argument(std::string_view name, std::string_view opcode, std::string_view value,
                     const Array& array) {
    text_ += fmt::format(
        "  {0}_in = {1} parameter({2})\n  {0}_wide = f32[{3}] convert({0}_in)\n"
        "  {0}_all = {4} broadcast({0}_wide), dimensions={{{5}}}\n"
        "  {0} = {4} {6}({7}, {0}_all)\n",
        name, array.text(), ++arguments_, array.dims.front(), wide_, axis_, opcode, value);
  }
  void deviation() {
    text_ += fmt::format(
        "  least = f32[] constant(1e-6)\n  leasts = {0} broadcast(least), dimensions={{}}\n"
        "  above = {0} add(variance, leasts)\n  deviation = {0} rsqrt(above)\n",
        row_);
  }
  void square(std::string_view value) {
    text_ += fmt::format("  squares = {0} multiply({1}, {1})\n", wide_, value);
  }
  // The module, its result `value` with the types of x and, of residuals, of the rows.
  [[nodiscard]] std::string module(std::string_view value,
                                   const std::vector<std::string>& residuals) const {
    std::string text = fmt::format("{}  {}out = {} convert({})\n", text_,
                                   residuals.empty() ? "ROOT " : "", x_.text(), value);
    if (!residuals.empty()) {
      const std::vector<std::string> types(residuals.size(), row_);
      text += fmt::format("  ROOT all = ({}, {}) tuple(out, {})\n", x_.text(),
                          fmt::join(types, ", "), fmt::join(residuals, ", "));
    }
    return "HloModule normalization\n\nadded {\n  a = f32[] parameter(0)\n"
           "  b = f32[] parameter(1)\n  ROOT sum = f32[] add(a, b)\n}\n\nENTRY main {\n" +
           text + "}\n";
  }

 private:
  const Array& x_;
  std::size_t axis_, arguments_ = 0;
  std::vector<std::size_t> kept_;
  std::string wide_, row_, text_;
};

TokamaxModule normalization(const json& key, bool tiled) {
  if (!tiled) return {{}, "normalization on a GPU"};  // Triton's choice of fusion is not known
  const Array x = array_of(key, "x", 1);
  const json& given = member(key, "axis");
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  std::int64_t axis = given.is_number_integer() ? given.get<std::int64_t>() : rank;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) bad_key("axis", "a dimension of x");
  NormalizationText lines(x, static_cast<std::size_t>(axis));
  const bool centre = truth_of(key, "subtract_mean");
  std::string value = "wide";
  if (centre) {
    lines.mean("mean", value);
    lines.with_rows("centred", "subtract", value, "mean");
    value = "centred";
  }
  lines.square(value);
  lines.mean("variance", "squares");
  lines.deviation();
  lines.with_rows("normal", "multiply", value, "deviation");
  value = "normal";
  for (const auto& [name, opcode] : {std::pair("scale", "multiply"), {"offset", "add"}}) {
    if (member(key, name).is_null()) continue;
    lines.with_argument(name, opcode, value, array_of(key, name, 1));
    value = name;
  }
  std::vector<std::string> residuals;
  if (truth_of(key, "return_residuals")) {
    residuals = centre ? std::vector<std::string>{"mean", "deviation"}
                       : std::vector<std::string>{"deviation"};
  }
  return {lines.module(value, residuals), {}};
}

}  // namespace

TokamaxModule tokamax_module(std::string_view op, std::string_view key, bool tiled) {
  const json arguments = json::parse(key, nullptr, /*allow_exceptions=*/false);
  if (!arguments.is_object()) throw Error("the key is no JSON object");
  if (op == "gated_linear_unit") return gated_linear_unit(arguments, tiled);
  if (op == "normalization") return normalization(arguments, tiled);
  return {{}, fmt::format("op {}", op)};
}

}  // namespace tilecast::measured
