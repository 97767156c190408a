#include "sim/cli/tune_trials.h"

#include <fmt/format.h>

#include "base/error.h"
#include "measured/csv.h"

namespace tilecast::sim::cli {

TrialFile::TrialFile(const std::string& file, const std::vector<std::string>& tiles)
    : file_(file, {"trial", "index", "tile", "predicted_ns", "measured_ns"}), tiles_(tiles) {
  const measured::CsvTable& table = file_.known();
  for (const measured::CsvRow& row : table.rows) {
    const auto index = static_cast<std::size_t>(measured::integer_cell(table, row, "index", 0));
    if (index >= tiles_.size() || tiles_[index] != table.cell(row, "tile")) {
      throw Error(fmt::format("{}: candidate {} is not '{}'; the trials are of another search",
                              table.where(row, "tile"), index, table.cell(row, "tile")));
    }
    known_.push_back({index, measured::time_ns_cell(table, row, "predicted_ns"),
                      measured::time_ns_cell(table, row, "measured_ns")});
  }
  trials_ = known_.size();
}

void TrialFile::add(const search::TuneTrial& trial) {
  ++trials_;
  file_.add({fmt::format("{}", trials_), fmt::format("{}", trial.candidate),
             tiles_[trial.candidate], measured::time_ns_text(trial.predicted),
             measured::time_ns_text(trial.measured)});
}

}  // namespace tilecast::sim::cli
