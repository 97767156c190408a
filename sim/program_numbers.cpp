#include "sim/program_numbers.h"

namespace tilecast::sim {
namespace {

using Number = std::optional<double>;

Number energy_of(const Simulation& run) {
  return run.energy ? Number(run.energy->total().value) : std::nullopt;
}
Number average_power_of(const Simulation& run) {
  return run.energy ? Number(run.energy->average_power().value) : std::nullopt;
}
Number peak_memory_of(const Simulation& run) {
  return run.memory ? Number(run.memory->peak.total()) : std::nullopt;
}
Number memory_capacity_of(const Simulation& run) {
  return run.memory ? Number(run.memory->capacity.value) : std::nullopt;
}

constexpr ProgramNumber kEnergyNumbers[] = {{"energy_J", &energy_of},
                                            {"average_power_W", &average_power_of}};
constexpr ProgramNumber kMemoryNumbers[] = {{"peak_memory_bytes", &peak_memory_of},
                                            {"memory_capacity_bytes", &memory_capacity_of}};

}  // namespace

std::span<const ProgramNumber> energy_numbers() {
  return kEnergyNumbers;
}

std::span<const ProgramNumber> memory_numbers() {
  return kMemoryNumbers;
}

}  // namespace tilecast::sim
