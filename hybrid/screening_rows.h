// The rows that are screened, with what they are compared by. Internal to screening.cpp.
#pragma once

#include <map>
#include <optional>

#include "hybrid/screening.h"

namespace tilecast::hybrid {

struct ScreeningRow {
  std::size_t set = 0, sample = 0;
  const hwdesc::Device* device = nullptr;
  std::string op_class, dtype;  // dtype: of what is multiplied, else of the result
  std::string question;         // equal for equal work, tile and parameters on one device
  std::vector<double> terms;    // by which kernels are alike
  double measured_s = 0, predicted_s = 0, light_s = 0;
  double share = 1;             // of predicted_s that is the kernel's, not the host's dispatch
  bool computes = false;        // bound by units or what feeds them, not by memory
  bool multiplies = false;      // a product or convolution: its type has a rate of its own
  bool names_schedule = false;  // a tile or parameters, of which physics knows little
  bool set_apart = false;

  [[nodiscard]] double error() const;  // log(measured / predicted)
};

class ScreeningRows {
 public:
  // Rows of single kernels that `prior` answers. Keeps references to both.
  ScreeningRows(const analytical::CostModel& prior, std::span<const measured::SampleSet> sets,
                std::span<const hwdesc::Device> devices, int jobs);

  // Those not yet set apart, by `key`, each group in order.
  using Key = std::string (*)(const ScreeningRow&);
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> groups(Key key) const;
  [[nodiscard]] const ScreeningRow& operator[](std::size_t row) const { return rows_[row]; }
  [[nodiscard]] std::vector<double> errors(std::span<const std::size_t> rows) const;
  [[nodiscard]] double typical_error(std::span<const std::size_t> rows) const;  // their median

  void set_apart(std::vector<std::size_t> rows, const std::string& reason);
  [[nodiscard]] Screened result() &&;

  // The rows' errors by those of the kernels most like theirs, their own left out.
  [[nodiscard]] std::vector<double> explained_errors(std::span<const std::size_t> rows) const;

 private:
  std::span<const measured::SampleSet> sets_;
  std::vector<ScreeningRow> rows_;
  std::vector<SetApart> apart_;
};

}  // namespace tilecast::hybrid
