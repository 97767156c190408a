// The rows to screen, with the keys and features for comparing them. Internal to screening.cpp.
#pragma once

#include <map>
#include <optional>

#include "hybrid/screening.h"

namespace tilecast::hybrid {

struct ScreeningRow {
  std::size_t set = 0, sample = 0;
  const hwdesc::Device* device = nullptr;
  std::string op_class, dtype;  // dtype: of a product's operands, else of the result
  std::string question;         // equal for equal work, tile and parameters on one device
  std::vector<double> terms;    // features for finding similar kernels
  double measured_s = 0, predicted_s = 0, light_s = 0;
  double share = 1;             // share of predicted_s that is not the host's dispatch
  bool computes = false;        // bound by units or on-chip paths, not by memory
  bool multiplies = false;      // a product or convolution, whose rate depends on the type
  bool names_schedule = false;  // states a tile or parameters, which physics models poorly
  bool set_apart = false;

  [[nodiscard]] double error() const;  // log(measured / predicted)
};

class ScreeningRows {
 public:
  // Takes rows of single kernels with an estimate by `prior`. Keeps references to both.
  ScreeningRows(const analytical::CostModel& prior, std::span<const measured::SampleSet> sets,
                std::span<const hwdesc::Device> devices, int jobs);

  // Groups the rows that are not set apart by `key`, each group in row order.
  using Key = std::string (*)(const ScreeningRow&);
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> groups(Key key) const;
  [[nodiscard]] const ScreeningRow& operator[](std::size_t row) const { return rows_[row]; }
  [[nodiscard]] std::vector<double> errors(std::span<const std::size_t> rows) const;
  [[nodiscard]] double typical_error(std::span<const std::size_t> rows) const;  // the median error

  void set_apart(std::vector<std::size_t> rows, const std::string& reason);
  [[nodiscard]] Screened result() &&;

  // Predicts the rows' errors from those of the most similar kernels, excluding their own.
  [[nodiscard]] std::vector<double> explained_errors(std::span<const std::size_t> rows) const;

 private:
  std::span<const measured::SampleSet> sets_;
  std::vector<ScreeningRow> rows_;
  std::vector<SetApart> apart_;
};

}  // namespace tilecast::hybrid
