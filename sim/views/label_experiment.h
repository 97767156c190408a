// What an experiment of labels found, as text or as JSON, schema "tilecast.labels/1": name, claim,
// set, targets[], scores[], bars[]. Text shows %, JSON fractions. Pure.
#pragma once

#include <string>

#include "validation/label_experiment.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string label_experiment_text(const validation::LabelResult& result);
[[nodiscard]] std::string label_experiment_json(const validation::LabelResult& result);

}  // namespace tilecast::sim::views
