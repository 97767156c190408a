// What a calibration found, as text and JSON (schema tilecast.calibrate/1, SI units). Pure.
#pragma once

#include <string>

#include "hybrid/calibrate.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string calibration_text(const hybrid::Calibrated& calibrated);
[[nodiscard]] std::string calibration_json(const hybrid::Calibrated& calibrated);

}  // namespace tilecast::sim::views
