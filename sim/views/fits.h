// The results of a hybrid's trials, next to the analytical model's: tables of train, calibrate and
// validate. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hybrid/hybrid_fit.h"
#include "hybrid/prepared_fit.h"
#include "hybrid/trials.h"
#include "learned/training/quantity_report.h"

namespace tilecast::sim::views {

[[nodiscard]] std::string trials_text(const hybrid::TrialReport& report);
[[nodiscard]] nlohmann::ordered_json trials_json(const hybrid::TrialReport& report);

// The result of calibrating a device and, if not null, the hybrid fitted after it, as text and JSON
// (schema tilecast.calibrate/1, SI units). Pure.
[[nodiscard]] std::string calibration_text(const hybrid::PreparedFit& prepared,
                                           const hybrid::FittedHybrid* fitted = nullptr);
[[nodiscard]] std::string calibration_json(const hybrid::PreparedFit& prepared,
                                           const hybrid::FittedHybrid* fitted = nullptr);

// Scores of models of a quantity (learned/training/quantity_report.h), as text or as JSON, schema
// "tilecast.quantity/1": quantity, unit, count, columns[], strata[] of name, rows, works, scores[]
// of model, rmse, rmse_of_range, mean_absolute_error, exact. Text shows %, JSON fractions. Pure.
[[nodiscard]] std::string quantity_text(const learned::QuantityReport& report);
[[nodiscard]] nlohmann::ordered_json quantity_json(const learned::QuantityReport& report);

// The same with notes about the rows: notes[].
[[nodiscard]] std::string quantity_evaluation_text(const learned::QuantityReport& report,
                                                   const std::vector<std::string>& notes);
[[nodiscard]] std::string quantity_evaluation_json(const learned::QuantityReport& report,
                                                   const std::vector<std::string>& notes);

}  // namespace tilecast::sim::views
