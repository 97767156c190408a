// One estimate as a JSON object: the fields that simulate and explain share, SI units; where a
// model learned from measurements, those of its correction (sim/views/correction.h) too. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analytical/estimate.h"

namespace tilecast::sim::views {

[[nodiscard]] nlohmann::ordered_json estimate_json(const analytical::Estimate& estimate);

}  // namespace tilecast::sim::views
