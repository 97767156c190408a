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
  for (const hybrid::Place::Neighbour& one : reasons.nearest) {
    out += fmt::format("{}{} at distance {:.2f}", out.empty() ? "" : ", ", one.name, one.distance);
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
  const std::string k = correction->weight == 0 ? "0" : fmt::format("{:.2f}", correction->weight);
  if (!(before.value > 0)) return k;
  return fmt::format("x {:.2f} [{:.2f}, {:.2f}] {}", correction->factor, correction->low / before,
                     correction->high / before, k);
}

std::string correction_text(const CorrectionReasons& reasons) {
  const Correction& c = reasons.correction;
  std::string out = fmt::format("analytical      {} us, before measurements corrected it\n",
                                microseconds(c.analytical.value));
  out += fmt::format("correction      x {:.3f}: trees say x {:.3f} (+- {} %), k = {}\n", c.factor,
                     std::exp(reasons.said.mean), percent(std::expm1(reasons.said.deviation)),
                     c.weight == 0 ? "0: physics alone" : fmt::format("{:.2f}", c.weight));
  out += fmt::format("90 % interval   {} to {} us\n", microseconds(c.low.value),
                     microseconds(c.high.value));
  if (!reasons.verdict.empty()) out += fmt::format("where           {}\n", reasons.verdict);
  out += fmt::format("nearest         {}\n", nearest_line(reasons));
  const std::string table = drivers(reasons);
  return table.empty() ? out : out + "\n" + table;
}

Json correction_json(const CorrectionReasons& reasons) {
  Json out = Json::object();
  add_correction(out, reasons.correction);
  out["residual"] = reasons.said.mean;
  out["residual_deviation"] = reasons.said.deviation;
  out["why"] = reasons.verdict;
  out["nearest"] = Json::array();
  for (const hybrid::Place::Neighbour& one : reasons.nearest) {
    out["nearest"].push_back({{"kernel", one.name}, {"distance", one.distance}});
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
