// The rows a calibration sees: which of several sets' measurements on one device are fitted, and
// how far a device's predictions of them are off, as logarithms. Internal to calibrate.cpp.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analytical/cost_model.h"
#include "measured/samples.h"

namespace tilecast::hybrid {

struct CalibrationRow {
  std::size_t set = 0, sample = 0;
  std::string kernel;  // fingerprint of its work
  std::string group;   // what a cross-validation holds out whole: its kernel; the row, of one alone
  std::string op_class;
  double measured_s = 0;
  // Rows of one kernel share the model's error for that kernel, so n of them weigh like sqrt(n).
  // Beside rows that name the tile that ran, those that do not count with twice their deviation:
  // the model compares them with the best tile, which the system measured may not have chosen.
  double weight = 1;
};

class CalibrationRows {
 public:
  // At most `most` rows of all sets, every kernel keeping all its rows or as many as the others;
  // those that a kernel keeps are spread evenly over its own. Times of whole programs
  // and rows that the model cannot answer are dropped and counted. Keeps references to model and
  // device.
  CalibrationRows(std::span<const measured::SampleSet> sets, std::size_t most,
                  const analytical::CostModel& model, const hwdesc::Device& device, int jobs);

  [[nodiscard]] std::span<const measured::SampleSet> sets() const { return sets_; }  // as chosen
  [[nodiscard]] const std::vector<CalibrationRow>& rows() const { return rows_; }
  [[nodiscard]] const hwdesc::Device& device() const { return device_; }
  [[nodiscard]] std::size_t programs() const { return programs_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  [[nodiscard]] const measured::Sample& sample(const CalibrationRow& row) const;
  [[nodiscard]] const measured::Workload& work(const CalibrationRow& row) const;

  // Where rows name no tile, a kernel takes the best of those that were the best on some device
  // asked about here: all tiles for each step of a fit take too long, and one alone misleads it, as
  // another is the best elsewhere.
  void add_tiles(const hwdesc::Device& device);
  // log(predicted / measured) of every row; predictions with the host's dispatch where rows hold
  // it.
  [[nodiscard]] std::vector<double> log_errors(const hwdesc::Device& device) const;

 private:
  class BestTiles;

  std::vector<measured::SampleSet> sets_;
  const analytical::CostModel& model_;
  const hwdesc::Device& device_;
  std::map<const ir::Kernel*, std::vector<analytical::TileConfig>> tiles_;
  std::deque<measured::PredictionPlan> plans_;
  std::vector<CalibrationRow> rows_;
  std::size_t programs_ = 0, unanswered_ = 0;
  int jobs_ = 1;
};

}  // namespace tilecast::hybrid
