// The result of calibrating a device and, if not null, the hybrid fitted after it, as text and JSON
// (schema tilecast.calibrate/1, SI units). Pure.
#pragma once

#include <string>

#include "hybrid/hybrid_fit.h"
#include "hybrid/prepared_fit.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string calibration_text(const hybrid::PreparedFit& prepared,
                                           const hybrid::FittedHybrid* fitted = nullptr);
[[nodiscard]] std::string calibration_json(const hybrid::PreparedFit& prepared,
                                           const hybrid::FittedHybrid* fitted = nullptr);

}  // namespace tilecast::sim::views
