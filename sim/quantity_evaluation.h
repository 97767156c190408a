// `tilecast evaluate` for models that predict a quantity other than time.
//
//   if (predicts_quantity(folder)) report = evaluate_quantity(sets, device, folders, jobs);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "learned/training/quantity_report.h"

namespace tilecast::sim {

// Whether `model` is the folder of such a model. Throws Error for an unreadable folder.
[[nodiscard]] bool predicts_quantity(const std::string& model);

struct QuantityEvaluation {
  learned::QuantityReport report;
  std::vector<std::string> notes;
};
// Scores all rows of the sets on the device that have the quantity: one column per model, and one
// that predicts the mean of its training rows. Throws Error if a model predicts times or a quantity
// other than the first model's, and if no row has the quantity.
[[nodiscard]] QuantityEvaluation evaluate_quantity(std::span<const std::string> sets,
                                                   const hwdesc::Device& device,
                                                   std::span<const std::string> models, int jobs);

}  // namespace tilecast::sim
