// `tilecast evaluate` of models that predict another quantity than time.
//
//   if (predicts_quantity(folder)) report = evaluate_quantity(sets, device, folders, jobs);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "learned/training/quantity_report.h"

namespace tilecast::sim {

// Whether `model` is the folder of such a model. Throws Error for a folder that cannot be read.
[[nodiscard]] bool predicts_quantity(const std::string& model);

struct QuantityEvaluation {
  learned::QuantityReport report;
  std::vector<std::string> notes;
};
// All rows of the sets on the device that have the quantity; of every model a column, and one that
// always says the mean of its training rows. Throws Error when a model predicts times or another
// quantity than the first, and when no row has it.
[[nodiscard]] QuantityEvaluation evaluate_quantity(std::span<const std::string> sets,
                                                   const hwdesc::Device& device,
                                                   std::span<const std::string> models, int jobs);

}  // namespace tilecast::sim
