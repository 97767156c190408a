#include "sim/views/parts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "analytical/tile.h"

namespace tilecast::sim::views {
namespace {

using analytical::Correction;
using hybrid::CorrectionReasons;
using Json = nlohmann::ordered_json;

std::string nearest_line(const CorrectionReasons& reasons) {
  std::string out;
  for (const hybrid::Place::Neighbour& one : reasons.nearest) {
    out += fmt::format("{}{} at distance {:.2f}", out.empty() ? "" : ", ", one.name, one.distance);
  }
  return out.empty() ? "no kernel" : out;
}

std::string drivers(const CorrectionReasons& reasons) {
  if (reasons.drivers.empty()) return "";
  TextTable table({{"drives the correction", 60}, ">value", ">effect on time %"});
  for (const hybrid::Driver& driver : reasons.drivers) {
    table.add({driver.feature, compact(driver.value), signed_percent(std::expm1(driver.effect))});
  }
  return table.render();
}

using analytical::LaunchEnergy;

struct EnergyPart {
  std::string_view name, key;
  Joules LaunchEnergy::*of;
};
constexpr std::array<EnergyPart, 4> kEnergyParts = {
    {{"compute", "compute", &LaunchEnergy::compute},
     {"memory", "memory", &LaunchEnergy::memory},
     {"on chip", "on_chip", &LaunchEnergy::on_chip},
     {"network", "network", &LaunchEnergy::network}}};

double energy_share(Joules part, Joules whole) {
  return whole.value > 0 ? part / whole : 0;
}

std::string energy_split(const LaunchEnergy& dynamic, Joules idle) {
  const Joules whole = dynamic.total() + idle;
  std::string out;
  for (const auto& [name, key, of] : kEnergyParts) {
    out += fmt::format("{} {} %, ", name, percent(energy_share(dynamic.*of, whole)));
  }
  return out + fmt::format("idle {} %", percent(energy_share(idle, whole)));
}

// The bounds are always present, other parts if the tile has them.
Json tile_json(const analytical::TileConfig& tile) {
  Json out = Json::object();
  for (const analytical::TilePart& part : analytical::tile_parts()) {
    const ir::Dims numbers = part.numbers(tile);
    if (numbers.empty() && !part.is_bounds()) continue;
    Json& value = out[std::string(part.name)];
    if (part.is_list()) {
      value = std::vector<std::int64_t>(numbers.begin(), numbers.end());
    } else {
      value = part.is_flag() ? Json(true) : Json(numbers[0]);
    }
  }
  return out;
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
  const bool has_trees = reasons.said.mean != 0 || reasons.said.deviation != 0;
  std::string out = fmt::format("analytical      {}{}\n", duration(c.analytical.value),
                                has_trees ? ", before measurements corrected it" : "");
  out += !has_trees
             ? "correction      none: this model keeps physics\n"
             : fmt::format("correction      x {:.3f}: trees say x {:.3f} (+- {} %), k = {}\n",
                           c.factor, std::exp(reasons.said.mean),
                           percent(std::expm1(reasons.said.deviation)),
                           c.weight == 0 ? "0: physics alone" : fmt::format("{:.2f}", c.weight));
  out += fmt::format("90 % interval   {} to {}\n", duration(c.low.value), duration(c.high.value));
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

std::string energy_text(const std::optional<ProgramEnergy>& energy) {
  if (!energy) return "energy    not described\n";
  std::string out = fmt::format(
      "energy    {}  ({})\npower     {} W on average", si(energy->total().value, "J"),
      energy_split(energy->dynamic, energy->idle), compact(energy->average_power().value));
  if (energy->power_limit) {
    out += fmt::format(", limit {:g} W", energy->power_limit->value);
    if (energy->limited_kernels > 0) {
      out += fmt::format(": lowers the clock of {} kernel{}, to {} % at the lowest",
                         energy->limited_kernels, energy->limited_kernels == 1 ? "" : "s",
                         percent(energy->lowest_clock));
    }
  }
  return out + "\n";
}

std::string launch_energy_text(const analytical::Estimate& estimate,
                               const std::optional<Watts>& idle_power) {
  if (!estimate.energy || !idle_power) return "energy          not described\n";
  const Joules idle = *idle_power * estimate.time;
  const Joules whole = estimate.energy->total() + idle;
  std::string out = fmt::format("energy          {}  ({})\n", si(whole.value, "J"),
                                energy_split(*estimate.energy, idle));
  const double power_W = estimate.time.value > 0 ? (whole / estimate.time).value : 0;
  out += fmt::format("power           {} W on average", compact(power_W));
  if (estimate.clock_factor < 1) {
    out += fmt::format(", held there at {} % of the clock", percent(estimate.clock_factor));
  }
  return out + "\n";
}

Json energy_json(const ProgramEnergy& energy) {
  Json parts = Json::object();
  for (const auto& [name, key, of] : kEnergyParts) {
    parts[fmt::format("{}_J", key)] = (energy.dynamic.*of).value;
  }
  parts["idle_J"] = energy.idle.value;
  parts["idle_power_W"] = energy.idle_power.value;
  if (energy.power_limit) {
    parts["power_limit_W"] = energy.power_limit->value;
    parts["limited_kernels"] = energy.limited_kernels;
    parts["lowest_clock_factor"] = energy.lowest_clock;
  }
  return parts;
}

void add_launch_energy(Json& object, const analytical::Estimate& estimate) {
  if (!estimate.energy) return;
  Json parts = {{"total_J", estimate.energy->total().value}};
  for (const auto& [name, key, of] : kEnergyParts) {
    parts[fmt::format("{}_J", key)] = ((*estimate.energy).*of).value;
  }
  object["dynamic_energy"] = std::move(parts);
  object["clock_factor"] = estimate.clock_factor;
}

void set_launch_energy_cells(Json& row, const analytical::Estimate& estimate,
                             const std::optional<Watts>& idle_power) {
  row.erase("clock_factor");
  if (!estimate.energy || !idle_power) return;
  row["energy_J"] = (estimate.energy->total() + *idle_power * estimate.time).value;
  for (const EnergyPart& part : kEnergyParts) {
    row[fmt::format("{}_energy_J", part.key)] = ((*estimate.energy).*part.of).value;
  }
  row["clock_factor"] = estimate.clock_factor;
}

std::string memory_line(const ProgramMemory& memory) {
  const ir::MemorySplit& peak = memory.peak;
  std::string out = "memory    ";
  if (!memory.fits()) {
    const bool on_host = memory.spare() >= 0;
    out += fmt::format(
        "DOES NOT FIT{}: {} too much; ", on_host ? " on the host" : "",
        binary_size(on_host ? memory.host - memory.host_capacity->value : -memory.spare()));
  }
  out += fmt::format("peak {} of {}: arguments {}, temporaries {}, outputs {}",
                     binary_size(peak.total()), binary_size(memory.capacity.value),
                     binary_size(peak.arguments), binary_size(peak.temporaries),
                     binary_size(peak.outputs));
  if (peak.constants > 0) out += fmt::format(", constants {}", binary_size(peak.constants));
  if (peak.gaps > 0) out += fmt::format(", gaps {}", binary_size(peak.gaps));
  if (!memory.at.empty()) out += fmt::format("  (at {})", memory.at);
  if (memory.unsized > 0) {
    out += fmt::format("  ({} arrays of unbounded size not counted)", memory.unsized);
  }
  if (memory.host > 0) out += fmt::format("; on the host {}", binary_size(memory.host));
  if (memory.host > 0 && memory.host_capacity) {
    out += fmt::format(" of {}", binary_size(memory.host_capacity->value));
  }
  return out + "\n";
}

nlohmann::ordered_json memory_json(const ProgramMemory& memory) {
  const ir::MemorySplit& peak = memory.peak;
  return {{"peak_bytes", peak.total()},
          {"capacity_bytes", memory.capacity.value},
          {"fits", memory.fits()},
          {"spare_bytes", memory.spare()},
          {"peak_arguments_bytes", peak.arguments},
          {"peak_temporaries_bytes", peak.temporaries},
          {"peak_outputs_bytes", peak.outputs},
          {"peak_constants_bytes", peak.constants},
          {"peak_gaps_bytes", peak.gaps},
          {"host_bytes", memory.host},
          {"outputs_bytes", memory.outputs},
          {"aliased_bytes", memory.aliased},
          {"unsized_arrays", memory.unsized},
          {"at", memory.at}};
}

Json estimate_json(const analytical::Estimate& e) {
  Json bounds = Json::object();
  for (std::size_t i = 0; i < e.bounds.size(); ++i) {
    bounds[std::string(analytical::name(static_cast<analytical::Bound>(i)))] = e.bounds[i].value;
  }
  Json out = {{"time_s", e.time.value},
              {"bound", std::string(analytical::name(e.bound))},
              {"next_bound", std::string(analytical::name(e.next_bound))},
              {"next_time_s", e.next_time.value},
              {"bounds_s", std::move(bounds)},
              {"speed_of_light_s", e.speed_of_light.value},
              {"utilisation", e.utilisation},
              {"tile", tile_json(e.tile)},
              {"iterations", e.iterations},
              {"hbm_read_bytes", e.hbm_read.value},
              {"hbm_write_bytes", e.hbm_write.value},
              {"scratchpad_used_bytes", e.scratchpad_used.value},
              {"flops", e.flops.value},
              {"model", std::string(e.model)},
              {"flags", e.flags}};
  add_launch_energy(out, e);
  add_correction(out, e.correction);
  return out;
}

}  // namespace tilecast::sim::views
