// The request of `tilecast evaluate`, given by names: columns of models and devices, and
// breakdowns.
//
//   std::vector<ModelColumn> columns = named_columns({"analytical"}, devices);
//   EvaluationReport report = evaluate_sets(sets, devices, std::move(columns),
//                                           {.evaluation = {.by = named_breakdowns({"class"})}});
#pragma once

#include "sim/evaluation_report.h"

namespace tilecast::sim {

// `model` on devices[device], with the training data stated on its card.
[[nodiscard]] ModelColumn model_column(const std::string& name, const std::string& model,
                                       const std::vector<hwdesc::Device>& devices,
                                       std::size_t device);

// One column for every model (as for --model; also models that only rank tiles) on every device,
// without duplicates. Without models: roofline on the first device, and on all devices the
// analytical model and, if different, the default. Columns of the first device are named after the
// model, those of other devices after the device. Throws Error for a model that cannot be read.
[[nodiscard]] std::vector<ModelColumn> named_columns(std::span<const std::string> models,
                                                     const std::vector<hwdesc::Device>& devices);

// Accepts "class", "size", "split", "family" and "kernel"; throws UsageError for anything else.
[[nodiscard]] std::vector<measured::Breakdown> named_breakdowns(std::span<const std::string> names);

}  // namespace tilecast::sim
