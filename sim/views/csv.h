// Simulations as one CSV: a row per kernel of every program and device, units in the column names.
// Pure.
#pragma once

#include <span>
#include <string>

#include "sim/simulator.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string csv(std::span<const Simulation> runs);

}  // namespace tilecast::sim::views
