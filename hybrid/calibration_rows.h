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

// At most `most` rows of all sets, every kernel keeping all its rows or as many as the others;
// those that a kernel keeps are spread evenly over its own.
[[nodiscard]] std::vector<measured::SampleSet> choose_rows(
    std::span<const measured::SampleSet> sets, std::size_t most);

// A model whose choice of tiles is frozen: each kernel's tile is chosen once, on one device, and
// kept while the device's constants move. A fit needs that to be smooth, and fast. Where the best
// tile is chosen by the model, d(min time)/d(constant) = d(time of that tile): the envelope theorem
// makes the derivative at the chosen device exact.
class FixedTiles final : public analytical::CostModel {
 public:
  // Keeps a reference to `model` and the addresses of the sets' kernels. Asks for those kernels on
  // `device` whose samples name no tile. Reading is thread-safe.
  FixedTiles(const analytical::CostModel& model, std::span<const measured::SampleSet> sets,
             const hwdesc::Device& device);

  [[nodiscard]] std::vector<std::optional<analytical::Estimate>> estimate(
      std::span<const analytical::KernelQuery> queries,
      const hwdesc::Device& device) const override;

 private:
  const analytical::CostModel& model_;
  std::map<const ir::Kernel*, analytical::TileConfig> tiles_;
};

struct CalibrationRow {
  std::size_t set = 0, sample = 0;
  std::string kernel;  // fingerprint of its work: what a cross-validation holds out whole
  std::string op_class;
  double measured_s = 0;
  // Rows of one kernel share the model's error for that kernel, so n of them weigh like sqrt(n).
  // Beside rows that name the tile that ran, those that do not count with twice their deviation:
  // the model compares them with the best tile, which the system measured may not have chosen.
  double weight = 1;
};

class CalibrationRows {
 public:
  // Keeps references to both. Rows the model cannot answer on `device` are dropped and counted.
  CalibrationRows(std::span<const measured::SampleSet> sets, const analytical::CostModel& model,
                  const hwdesc::Device& device, int jobs);

  [[nodiscard]] const std::vector<CalibrationRow>& rows() const { return rows_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  [[nodiscard]] const measured::Sample& sample(const CalibrationRow& row) const;
  [[nodiscard]] const measured::Workload& work(const CalibrationRow& row) const;
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
