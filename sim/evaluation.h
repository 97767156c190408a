// `tilecast evaluate` without its command line: evaluates models on measurement sets and collects
// everything that a report shows.
//
//   EvaluationReport report = evaluate_sets({"sets/matmul"}, devices, columns, options);
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/device.h"
#include "hybrid/hybrid_model.h"
#include "learned/predictor.h"
#include "learned/training/quantity_report.h"
#include "measured/evaluation.h"
#include "measured/reference_rows.h"

namespace tilecast::sim {

// One column of the table: a model on one of the devices.
struct ModelColumn {
  std::string name;   // "roofline", "analytical"; for further devices the device's name
  std::string model;  // as given to --model
  std::size_t device = 0;
  std::unique_ptr<analytical::CostModel> answers = nullptr;
  bool ranks_only = false;                   // only has the metrics of ranking tiles
  std::vector<std::string> trained_on = {};  // hashes of measurement sets
  std::vector<std::string> families = {};    // families of kernels it was trained on
  std::string note = {};                     // a note for reports, or empty
};

struct EvaluationReport {
  std::vector<hwdesc::Device> devices;
  std::vector<ModelColumn> columns;
  measured::ScoreSheet sheet;
  measured::Evaluation evaluation;
  std::vector<measured::ReferenceRow> references;  // published by others; empty unless requested
  std::vector<std::string> notes;                  // rows left out or without a prediction, and why
};

struct EvaluateSetsOptions {
  measured::EvaluationOptions evaluation = {};
  bool check_physics = true;        // false: also score rows that only physics doubts
  std::function<void()> step = {};  // called after every set and column; on any thread
};

// Throws Error for sets that cannot be read, and if no row of any set was measured on the devices.
[[nodiscard]] EvaluationReport evaluate_sets(std::span<const std::string> paths,
                                             std::vector<hwdesc::Device> devices,
                                             std::vector<ModelColumn> columns,
                                             const EvaluateSetsOptions& options = {});

// Whether `device` describes the machine that a set calls `measured_on`: compares name, lineage and
// file.
[[nodiscard]] bool is_measured_on(const hwdesc::Device& device, const std::string& measured_on);

// Number of rows left out per kind: "3 faster_than_light, 1 duplicate"; "" if none.
[[nodiscard]] std::string fault_summary(std::span<const measured::RowFault> faults);

// The request of `tilecast evaluate`, given by names: columns of models and devices, and
// breakdowns.
//
//   std::vector<ModelColumn> columns = named_columns({"analytical"}, devices);
//   EvaluationReport report = evaluate_sets(sets, devices, std::move(columns),
//                                           {.evaluation = {.by = named_breakdowns({"class"})}});

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

// `tilecast evaluate` for models that predict a quantity other than time.
//
//   if (predicts_quantity(folder)) report = evaluate_quantity(sets, device, folders, jobs);

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
