// An evaluation as a model card in Markdown: models and devices, data with source, licence, timing
// and hash, what was left out, the metrics by stratum with the roofline beside, what the numbers
// are not, and others' numbers where the report holds them. Pure.
#pragma once

#include <string>

#include "sim/evaluation_report.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string model_card(const EvaluationReport& report);

}  // namespace tilecast::sim::views
