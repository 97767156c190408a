#include "sim/views/energy.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/views/text_table.h"

namespace tilecast::sim::views {
namespace {

using Json = nlohmann::ordered_json;
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

}  // namespace

std::string joules(Joules energy) {
  struct Prefix {
    double scale;
    std::string_view symbol;
  };
  constexpr std::array<Prefix, 5> kPrefixes = {
      {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}, {1e-12, "pJ"}}};
  for (const auto& [scale, symbol] : kPrefixes) {
    if (energy.value >= scale) return fmt::format("{} {}", compact(energy.value / scale), symbol);
  }
  return fmt::format("{} pJ", compact(energy.value / 1e-12));
}

std::string energy_text(const std::optional<ProgramEnergy>& energy) {
  if (!energy) return "energy    not described\n";
  std::string out = fmt::format(
      "energy    {}  ({})\npower     {} W on average", joules(energy->total()),
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
  std::string out = fmt::format("energy          {}  ({})\n", joules(whole),
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

void add_launch_energy(Fields& fields, const analytical::Estimate& estimate,
                       const std::optional<Watts>& idle_power) {
  const bool described = estimate.energy && idle_power;
  const auto cell = [&](auto value) { return described ? csv_number(value()) : std::string(); };
  fields.push_back({"energy_J", cell([&] {
                      return (estimate.energy->total() + *idle_power * estimate.time).value;
                    })});
  for (const auto& part : kEnergyParts) {
    fields.push_back({fmt::format("{}_energy_J", part.key),
                      cell([&] { return ((*estimate.energy).*part.of).value; })});
  }
  fields.push_back({"clock_factor", cell([&] { return estimate.clock_factor; })});
}

}  // namespace tilecast::sim::views
