#include "sim/views/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/views/parts.h"
#include "sim/views/rows.h"

namespace tilecast::sim::views {
namespace {

using analytical::Bound;
using analytical::Estimate;
using Json = nlohmann::ordered_json;

constexpr double kBytesPerMebibyte = 1024.0 * 1024.0;

std::string summary(const Explanation& why) {
  const Estimate& e = why.estimate;
  std::string out = fmt::format("time            {} on the device\n", duration(e.time.value));
  out += fmt::format("speed of light  {}  (utilisation {} %)\n", duration(e.speed_of_light.value),
                     percent(e.utilisation));
  out += fmt::format("bound by        {}\n", analytical::name(e.bound));
  out += fmt::format("next bound      {}: {} if {} were free\n", analytical::name(e.next_bound),
                     duration(e.next_time.value), analytical::name(e.bound));
  if (why.headroom) {
    out += fmt::format("could reach     {}: {} left on the table ({} % of its like, {})\n",
                       duration(why.headroom->reachable.value),
                       duration((e.time - why.headroom->reachable).value),
                       percent(why.headroom->quantile), why.headroom->model);
  }
  const std::string tile = analytical::to_string(e.tile);
  out += fmt::format("tile            {}  ({}), {} iterations\n", tile.empty() ? "whole" : tile,
                     why.tile_origin, count(e.iterations));
  out += fmt::format("HBM             {} read, {} written\n", si(e.hbm_read.value, "B"),
                     si(e.hbm_write.value, "B"));
  out += fmt::format("{:<15} {} of {} MiB\n", why.scratchpad,
                     compact(e.scratchpad_used.value / kBytesPerMebibyte),
                     compact(why.scratchpad_capacity.value / kBytesPerMebibyte));
  out += launch_energy_text(e, why.idle_power);
  return out +
         fmt::format("work            {}, answered by {}\n", si(e.flops.value, "FLOP"), e.model);
}

std::string bars(const Explanation& why) {
  constexpr double kBarWidth = 40;
  const Estimate& e = why.estimate;
  TextTable rows({"resource", ">adds", ">busy", ">of time %", ""});
  for (std::size_t i = 0; i < analytical::kBoundCount; ++i) {
    if (e.bounds[i].value <= 0 && why.added[i].value <= 0) continue;
    const double share = e.time.value > 0 ? e.bounds[i] / e.time : 0;
    const auto length =
        static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth));
    rows.add({std::string(analytical::name(static_cast<Bound>(i))), duration(why.added[i].value),
              duration(e.bounds[i].value), percent(share), std::string(length, '#')});
  }
  return rows.render();
}

std::string arrays(const Explanation& why) {
  TextTable rows({"array", ">padded", {"shape", 100}});
  for (const ExplainedArray& array : why.arrays) {
    rows.add({array.role, si(array.padded.value, "B"), array.shape});
  }
  return rows.render();
}

std::string tiles(const Explanation& why) {
  if (why.best_tiles.empty()) return {};
  const bool corrected = std::ranges::any_of(
      why.best_tiles, [](const Estimate& e) { return e.correction.has_value(); });
  std::vector<Column> columns{">rank", ">time",           ">iterations",
                              "bound", ">scratchpad MiB", {"tile", 80}};
  if (corrected) columns.push_back(kCorrectionTitle);
  TextTable rows(columns);
  for (std::size_t i = 0; i < why.best_tiles.size(); ++i) {
    const Estimate& e = why.best_tiles[i];
    std::vector<std::string> cells{fmt::format("{}", i + 1),
                                   duration(e.time.value),
                                   count(e.iterations),
                                   std::string(analytical::name(e.bound)),
                                   compact(e.scratchpad_used.value / kBytesPerMebibyte),
                                   analytical::to_string(e.tile)};
    if (corrected) cells.push_back(correction_cell(e.correction));
    rows.add(std::move(cells));
  }
  return fmt::format("best of {} tiles\n", why.tiles_tried) + rows.render();
}

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
  TextTable table({"without", ">held %", ">time", ">gain %", ">kernels moved"});
  Seconds before = result.time;
  for (const LimitStep& step : result.path) {
    table.add({std::string(analytical::name(step.bound)), percent(step.share),
               duration(step.time.value), percent(1 - step.time / before),
               count(static_cast<double>(step.kernels_moved))});
    before = step.time;
  }
  return table.render();
}

}  // namespace

std::string explain_text(const Explanation& why) {
  std::string out = fmt::format("kernel          {} ({})", why.kernel, ir::name(why.opcode));
  if (!why.op_name.empty()) out += fmt::format("  {}", why.op_name);
  out += fmt::format("\ndevice          {}\n", why.device);
  if (!why.model.empty()) out += fmt::format("model           {}\n", why.model);
  out += why.infeasible ? fmt::format("this tile cannot run: {}\n", *why.infeasible)
                        : summary(why) + "\n" + bars(why);
  if (why.correction) out += "\n" + correction_text(*why.correction);
  out += "\n" + arrays(why);
  const std::string ranked = tiles(why);
  if (!ranked.empty()) out += "\n" + ranked;
  for (const std::string& flag : why.estimate.flags) out += fmt::format("flag: {}\n", flag);
  for (const std::string& note : why.notes) out += fmt::format("note: {}\n", note);
  if (!why.loops.empty()) out += "\n" + why.loops;
  return out;
}

std::string explain_json(const Explanation& why) {
  Json document = {{"schema", "tilecast.explain/1"}, {"file", why.file},
                   {"kernel", why.kernel},           {"opcode", std::string(ir::name(why.opcode))},
                   {"device", why.device},           {"tile_origin", why.tile_origin}};
  if (why.infeasible) {
    document["infeasible"] = *why.infeasible;
  } else {
    document["estimate"] = estimate_json(why.estimate);
    if (why.idle_power) document["idle_power_W"] = why.idle_power->value;
    Json& added = document["added_s"] = Json::object();
    for (std::size_t i = 0; i < why.added.size(); ++i) {
      added[std::string(analytical::name(static_cast<Bound>(i)))] = why.added[i].value;
    }
  }
  if (why.headroom) {
    document["headroom"] = {{"model", why.headroom->model},
                            {"quantile", why.headroom->quantile},
                            {"reachable_s", why.headroom->reachable.value},
                            {"left_s", (why.estimate.time - why.headroom->reachable).value}};
  }
  document["arrays"] = Json::array();
  for (const ExplainedArray& array : why.arrays) {
    document["arrays"].push_back(
        {{"role", array.role}, {"shape", array.shape}, {"padded_bytes", array.padded.value}});
  }
  document["tiles_tried"] = why.tiles_tried;
  document["best_tiles"] = list_of(why.best_tiles, estimate_json);
  if (!why.model.empty()) document["model"] = why.model;
  if (why.correction) document["correction"] = correction_json(*why.correction);
  if (!why.notes.empty()) document["notes"] = why.notes;
  if (!why.loops.empty()) document["loops"] = why.loops;
  return json_text(document);
}

std::string explain_csv(const Explanation& why) {
  const std::string header =
      fmt::format("rank,time_s,bound,next_bound,iterations,scratchpad_used_bytes,tile,{},{}",
                  kEnergyColumns, kCorrectionColumns);
  std::string out = header + "\n";
  for (std::size_t i = 0; i < why.best_tiles.size(); ++i) {
    const Estimate& e = why.best_tiles[i];
    Json row = estimate_json(e);
    row["rank"] = i + 1;
    row["tile"] = analytical::to_string(e.tile);
    set_launch_energy_cells(row, e, why.idle_power);
    out += csv_row(row, header);
  }
  return out;
}

std::string sensitivity_text(const Sensitivity& result, std::size_t top) {
  std::string out =
      fmt::format("{} on {}: {}, {} kernels, by {}\n\n", result.program, result.device,
                  duration(result.time.value), result.kernels, result.model);
  TextTable table({"number", ">value", ">up", ">down", "kink", ">kernels moved", "most"});
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
  Json document = {{"schema", "tilecast.sensitivity/1"}};
  TC_ADD_MEMBERS(document, result, file, program, device, model);
  document.update({{"time_s", result.time.value},
                   {"kernels", result.kernels},
                   {"numbers", list_of(result.numbers, number_json)},
                   {"path", list_of(result.path, step_json)}});
  return json_text(document);
}

std::string sensitivity_csv(const Sensitivity& result) {
  return rows_csv(list_of(result.numbers, [](const NumberSensitivity& entry) {
    Json row = number_json(entry);
    row["kink"] = entry.kink() ? 1 : 0;
    return row;
  }));
}

}  // namespace tilecast::sim::views
