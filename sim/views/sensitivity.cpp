#include "sim/views/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/views/rows.h"
#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;

std::string signed_share(const std::optional<double>& value) {
  if (!value) return "-";
  const std::string text = fmt::format("{:+.3f}", *value);
  return text == "-0.000" ? "+0.000" : text;
}

Json number_json(const NumberSensitivity& entry) {
  return {{"key", entry.number.path},
          {"value", hwdesc::format_quantity(entry.number.value, entry.number.kind)},
          {"value_si", entry.number.value},
          {"elasticity_up", json_number(entry.up)},
          {"elasticity_down", json_number(entry.down)},
          {"kink", entry.kink()},
          {"kernels_moved", entry.kernels_moved},
          {"most_moved", entry.most_moved}};
}

Json step_json(const LimitStep& step) {
  return {{"without", std::string(analytical::name(step.bound))},
          {"held_share", step.share},
          {"time_s", step.time.value},
          {"kernels_moved", step.kernels_moved}};
}

std::string path_text(const Sensitivity& result) {
  TextTable table({{"without"},
                   {"held %", Align::kRight},
                   {"time us", Align::kRight},
                   {"gain %", Align::kRight},
                   {"kernels moved", Align::kRight}});
  Seconds before = result.time;
  for (const LimitStep& step : result.path) {
    table.add({std::string(analytical::name(step.bound)), percent(step.share),
               microseconds(step.time.value), percent(1 - step.time / before),
               count(static_cast<double>(step.kernels_moved))});
    before = step.time;
  }
  return table.render();
}

}  // namespace

std::string sensitivity_text(const Sensitivity& result, std::size_t top) {
  std::string out =
      fmt::format("{} on {}: {} us, {} kernels, by {}\n\n", result.program, result.device,
                  microseconds(result.time.value), result.kernels, result.model);
  TextTable table({{"number"},
                   {"value", Align::kRight},
                   {"up", Align::kRight},
                   {"down", Align::kRight},
                   {"kink"},
                   {"kernels moved", Align::kRight},
                   {"most"}});
  constexpr double kShown = 5e-4;
  std::size_t shown = 0;
  for (const NumberSensitivity& entry : result.numbers) {
    if (entry.size() < kShown || shown == top) break;
    ++shown;
    table.add({entry.number.path, hwdesc::format_quantity(entry.number.value, entry.number.kind),
               signed_share(entry.up), signed_share(entry.down), entry.kink() ? "yes" : "",
               count(static_cast<double>(entry.kernels_moved)), entry.most_moved});
  }
  out += "% of time per % of the number, each way:\n" + table.render();
  if (shown < result.numbers.size()) {
    out += fmt::format("{} more numbers: {}\n", result.numbers.size() - shown,
                       shown == top ? "--top shows more" : "below 0.0005");
  }
  if (!result.path.empty()) {
    out += "\nWhat limits next, each made infinitely fast with those before:\n" + path_text(result);
  }
  return out;
}

std::string sensitivity_json(const Sensitivity& result) {
  Json numbers = Json::array(), path = Json::array();
  for (const NumberSensitivity& entry : result.numbers) numbers.push_back(number_json(entry));
  for (const LimitStep& step : result.path) path.push_back(step_json(step));
  return json_text({{"schema", "tilecast.sensitivity/1"},
                    {"file", result.file},
                    {"program", result.program},
                    {"device", result.device},
                    {"model", result.model},
                    {"time_s", result.time.value},
                    {"kernels", result.kernels},
                    {"numbers", std::move(numbers)},
                    {"path", std::move(path)}});
}

std::string sensitivity_csv(const Sensitivity& result) {
  Json rows = Json::array();
  for (const NumberSensitivity& entry : result.numbers) {
    Json row = number_json(entry);
    row["kink"] = entry.kink() ? 1 : 0;
    rows.push_back(std::move(row));
  }
  return rows_csv(rows);
}

}  // namespace tilecast::sim::views
