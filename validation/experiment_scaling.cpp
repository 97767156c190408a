#include "validation/experiment_scaling.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"

namespace tilecast::validation {
namespace {

struct DefaultTimes {
  double measured_s = 0, predicted_s = 0;
  std::size_t rows = 0;

  void add(double measured, double predicted) {
    measured_s += measured;
    predicted_s += predicted;
    ++rows;
  }
  [[nodiscard]] double coefficient() const { return rows == 0 ? 1 : measured_s / predicted_s; }
};

}  // namespace

std::vector<std::string> scale_by_class(const std::vector<measured::ScoredWorkload>& works,
                                        const std::vector<bool>& is_default, std::size_t column,
                                        std::vector<measured::ScoredRow>& rows) {
  TC_CHECK(is_default.size() == rows.size(), "one flag per row");
  std::map<std::string, DefaultTimes> classes;
  DefaultTimes all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<double>& predicted_s = rows[i].predicted_s[column];
    if (!is_default[i] || !predicted_s) continue;
    classes[works[rows[i].work].op_class].add(rows[i].measured_s, *predicted_s);
    all.add(rows[i].measured_s, *predicted_s);
  }
  for (measured::ScoredRow& row : rows) {
    if (!row.predicted_s[column]) continue;
    const auto found = classes.find(works[row.work].op_class);
    *row.predicted_s[column] *= (found == classes.end() ? all : found->second).coefficient();
  }
  std::vector<std::string> scaled;
  for (const auto& [op_class, times] : classes) {
    scaled.push_back(
        fmt::format("{} x {:.2f} ({} rows)", op_class, times.coefficient(), times.rows));
  }
  scaled.push_back(fmt::format("others x {:.2f}", all.coefficient()));
  return scaled;
}

}  // namespace tilecast::validation
