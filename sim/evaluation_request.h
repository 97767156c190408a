// What `tilecast evaluate` is asked by names: columns of models and devices, and breakdowns.
//
//   std::vector<ModelColumn> columns = named_columns({"analytical"}, devices);
//   EvaluationReport report = evaluate_sets(sets, devices, std::move(columns),
//                                           {.evaluation = {.by = named_breakdowns({"class"})}});
#pragma once

#include "sim/evaluation_report.h"

namespace tilecast::sim {

// `model` on the device-th of `devices`, with what its card says it was trained on.
[[nodiscard]] ModelColumn model_column(const std::string& name, const std::string& model,
                                       const std::vector<hwdesc::Device>& devices,
                                       std::size_t device);

// A column for every model (as of --model; one that only ranks tiles, too) on every device, each
// once. Without models: roofline on the first device, on all the analytical one and, where that is
// another, the default. The columns of the first device go by the model's name, those of others by
// the device's. Throws Error for a model that cannot be read.
[[nodiscard]] std::vector<ModelColumn> named_columns(std::span<const std::string> models,
                                                     const std::vector<hwdesc::Device>& devices);

// Of "class", "size", "split", "family" and "kernel"; throws UsageError for anything else.
[[nodiscard]] std::vector<measured::Breakdown> named_breakdowns(std::span<const std::string> names);

}  // namespace tilecast::sim
