#include "sim/views/trials.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {

using hybrid::TrialReport;

std::string trials_text(const TrialReport& report) {
  TextTable table({{"groups left out"},
                   {"rows", Align::kRight},
                   {"physics MAPE %", Align::kRight},
                   {"hybrid MAPE %", Align::kRight},
                   {""}});
  const auto add = [&](const std::string& what, std::size_t rows, double before, double after,
                       bool corrected) {
    table.add({what, fmt::format("{}", rows), fmt::format("{:.1f}", before),
               fmt::format("{:.1f}", after), corrected ? "" : "physics alone"});
  };
  add("all", report.rows, report.before, report.after, report.believed > 0);
  for (const TrialReport::OfClass& one : report.classes) {
    add(one.op_class, one.rows, one.before, one.after, one.before != one.after);
  }
  return table.render() +
         fmt::format(
             "{} of {} rows corrected, in {} groups; {} of {} strata of set, device and bound "
             "worse by over a point, worst {:+.1f}\n",
             report.believed, report.rows, report.units, report.worse, report.strata, report.worst);
}

nlohmann::ordered_json trials_json(const TrialReport& report) {
  nlohmann::ordered_json json = {{"left_out", "groups"},
                                 {"rows", report.rows},
                                 {"groups", report.units},
                                 {"rows_corrected", report.believed},
                                 {"mape_physics", report.before / 100},
                                 {"mape", report.after / 100},
                                 {"strata", report.strata},
                                 {"strata_worse_by_a_point", report.worse},
                                 {"worst_points", report.worst},
                                 {"classes", nlohmann::ordered_json::array()}};
  for (const TrialReport::OfClass& one : report.classes) {
    json["classes"].push_back({{"class", one.op_class},
                               {"rows", one.rows},
                               {"mape_physics", one.before / 100},
                               {"mape", one.after / 100}});
  }
  return json;
}

}  // namespace tilecast::sim::views
