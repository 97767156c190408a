#include "sim/views/correction.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using analytical::Correction;
using hybrid::CorrectionReasons;
using Json = nlohmann::ordered_json;

std::string signed_percent_of_log(double log_effect) {
  return fmt::format("{:+.1f}", 100 * std::expm1(log_effect));
}

std::string nearest_line(const CorrectionReasons& reasons) {
  std::string out;
  for (std::size_t i = 0; i < reasons.nearest.size(); ++i) {
    const std::string name =
        i < reasons.nearest_names.size() ? reasons.nearest_names[i] : std::string("?");
    out += fmt::format("{}{} at distance {:.2f}", out.empty() ? "" : ", ", name,
                       reasons.nearest[i].distance);
  }
  return out.empty() ? "no kernel" : out;
}

std::string drivers(const CorrectionReasons& reasons) {
  if (reasons.drivers.empty()) return "";
  TextTable table({{"drives the correction", Align::kLeft, 60},
                   {"value", Align::kRight},
                   {"effect on time %", Align::kRight}});
  for (const hybrid::Driver& driver : reasons.drivers) {
    table.add({driver.feature, compact(driver.value), signed_percent_of_log(driver.effect)});
  }
  return table.render();
}

}  // namespace

std::string correction_cell(const std::optional<Correction>& correction) {
  if (!correction) return "";
  const Seconds before = correction->analytical;
  if (!(before.value > 0)) return std::string(analytical::name(correction->verdict));
  return fmt::format("x {:.2f} [{:.2f}, {:.2f}] {}", correction->factor, correction->low / before,
                     correction->high / before, analytical::name(correction->verdict));
}

std::string correction_text(const CorrectionReasons& reasons) {
  const Correction& c = reasons.correction;
  std::string out = fmt::format("analytical      {} us, before measurements corrected it\n",
                                microseconds(c.analytical.value));
  out += fmt::format("correction      x {:.3f}: measurements say x {:.3f}, believed to {} %\n",
                     c.factor, std::exp(reasons.residual), percent(c.weight));
  out += fmt::format("90 % interval   {} to {} us\n", microseconds(c.low.value),
                     microseconds(c.high.value));
  out += fmt::format("domain          {}{}{}\n", analytical::name(c.verdict),
                     reasons.verdict.empty() ? "" : ": ", reasons.verdict);
  out += fmt::format("nearest         {}\n", nearest_line(reasons));
  const std::string table = drivers(reasons);
  return table.empty() ? out : out + "\n" + table;
}

Json correction_json(const CorrectionReasons& reasons) {
  Json out = Json::object();
  add_correction(out, reasons.correction);
  out["residual"] = reasons.residual;
  out["why"] = reasons.verdict;
  out["nearest"] = Json::array();
  for (std::size_t i = 0; i < reasons.nearest.size() && i < reasons.nearest_names.size(); ++i) {
    out["nearest"].push_back(
        {{"kernel", reasons.nearest_names[i]}, {"distance", reasons.nearest[i].distance}});
  }
  out["drivers"] = Json::array();
  for (const hybrid::Driver& driver : reasons.drivers) {
    out["drivers"].push_back(
        {{"feature", driver.feature}, {"value", driver.value}, {"log_effect", driver.effect}});
  }
  return out;
}

void add_correction(Json& object, const std::optional<Correction>& correction) {
  if (!correction) return;
  object["analytical_s"] = correction->analytical.value;
  object["factor"] = correction->factor;
  object["weight"] = correction->weight;
  object["verdict"] = std::string(analytical::name(correction->verdict));
  object["low_s"] = correction->low.value;
  object["high_s"] = correction->high.value;
}

void add_correction(Fields& fields, const std::optional<Correction>& correction) {
  Json values = {{"analytical_s", {}}, {"factor", {}}, {"weight", {}},
                 {"verdict", {}},      {"low_s", {}},  {"high_s", {}}};
  add_correction(values, correction);
  for (const auto& [name, value] : values.items()) {
    fields.push_back({name, value.is_null()     ? ""
                            : value.is_string() ? value.get<std::string>()
                                                : csv_number(value.get<double>())});
  }
}

}  // namespace tilecast::sim::views
