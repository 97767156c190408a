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

#include "hybrid/hybrid_model.h"
#include "learned/predictor.h"
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

// A model that only ranks the tiles of a kernel: its "times" are exp(score) and only their order is
// meaningful.
class RankingModel final : public analytical::CostModel {
 public:
  // `prior`: the analytical model that the predictor's features refer to; must outlive this.
  RankingModel(std::unique_ptr<learned::Predictor> predictor, const analytical::CostModel& prior)
      : predictor_(std::move(predictor)), prior_(prior) {}
  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

 private:
  std::unique_ptr<learned::Predictor> predictor_;
  const analytical::CostModel& prior_;
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

}  // namespace tilecast::sim
