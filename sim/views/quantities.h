// Scores of models of a quantity (learned/training/quantity_report.h), as text or as JSON, schema
// "tilecast.quantity/1": quantity, unit, count, columns[], strata[] of name, rows, works, scores[]
// of model, rmse, rmse_of_range, mean_absolute_error, exact. Text shows %, JSON fractions. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "learned/training/quantity_report.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string quantity_text(const learned::QuantityReport& report);
[[nodiscard]] nlohmann::ordered_json quantity_json(const learned::QuantityReport& report);

// The same with notes about the rows: notes[].
[[nodiscard]] std::string quantity_evaluation_text(const learned::QuantityReport& report,
                                                   const std::vector<std::string>& notes);
[[nodiscard]] std::string quantity_evaluation_json(const learned::QuantityReport& report,
                                                   const std::vector<std::string>& notes);

}  // namespace tilecast::sim::views
