// What a hybrid did to a kernel, in words: for tables of explain, simulate and compare.
#pragma once

#include <string>

#include "hybrid/hybrid_model.h"

namespace tilecast::sim::views {

// "x 1.23 [1.05, 1.44] in": factor, 90 % interval over the time, verdict. "" without a correction.
[[nodiscard]] std::string correction_cell(const analytical::Estimate& estimate);
// The paragraph of `explain`: analytical time, factor, interval, verdict, nearest, drivers.
[[nodiscard]] std::string correction_text(const hybrid::CorrectionReasons& reasons);

}  // namespace tilecast::sim::views
