// The rows a calibration sees: measurements of several sets on one device, and how far a device's
// predictions of them are off, as logarithms.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

struct CalibrationRow {
  std::size_t set = 0, sample = 0;
  std::string kernel;  // fingerprint of its work: what a cross-validation leaves out whole
  std::string op_class;
  double measured_s = 0;
  // Rows of one kernel share the model's error for that kernel, so n of them weigh like sqrt(n).
  // Beside rows that name the tile that ran, those that do not count with twice their deviation:
  // the model compares them with the best tile, which the system measured may not have chosen.
  double weight = 1;
};

class CalibrationRows {
 public:
  // Keeps references to both. Rows the model cannot answer on `device` are left out and counted.
  CalibrationRows(std::span<const measured::SampleSet> sets, const analytical::CostModel& model,
                  const hwdesc::Device& device, int jobs);

  [[nodiscard]] const std::vector<CalibrationRow>& rows() const { return rows_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  [[nodiscard]] const measured::Sample& sample(const CalibrationRow& row) const;
  [[nodiscard]] const measured::Work& work(const CalibrationRow& row) const;
  // log(predicted / measured) of every row; predictions with the host's dispatch where rows hold
  // it.
  [[nodiscard]] std::vector<double> log_errors(const analytical::CostModel& model,
                                               const hwdesc::Device& device) const;

 private:
  std::span<const measured::SampleSet> sets_;
  std::deque<measured::PredictionPlan> plans_;
  std::vector<CalibrationRow> rows_;
  std::size_t unanswered_ = 0;
  int jobs_ = 1;
};

}  // namespace tilecast::hybrid
