// What a calibration found, and the hybrid that was fitted after it (null: none), as text and JSON
// (schema tilecast.calibrate/1, SI units). Pure.
#pragma once

#include <string>

#include "hybrid/calibrate.h"
#include "hybrid/hybrid_fit.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string calibration_text(const hybrid::Calibrated& calibrated,
                                           const hybrid::FittedHybrid* fitted = nullptr);
[[nodiscard]] std::string calibration_json(const hybrid::Calibrated& calibrated,
                                           const hybrid::FittedHybrid* fitted = nullptr);

}  // namespace tilecast::sim::views
