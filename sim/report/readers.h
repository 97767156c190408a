// The readers behind read_result(), one per schema; the root is an object whose schema they know.
#pragma once

#include "sim/report/json_reader.h"
#include "sim/report/results.h"

namespace tilecast::sim::report {

[[nodiscard]] SimulationResults read_simulations(const Value& root);  // tilecast.simulate/1, /2
[[nodiscard]] PairedResult read_comparison(const Value& root);        // tilecast.compare/1
[[nodiscard]] EvaluationResult read_evaluation(const Value& root);    // tilecast.evaluate/1
[[nodiscard]] TablesResult read_tables(const Value& root);            // any other of ours
[[nodiscard]] PairedResult read_evaluated_rows(const base::SourceText& text);  // evaluate --rows

// A number >= 0.
[[nodiscard]] double size_of(const Value& object, std::string_view key);
// low_s and high_s, where the object has them.
[[nodiscard]] std::optional<TimeInterval> interval_of(const Value& object);

}  // namespace tilecast::sim::report
