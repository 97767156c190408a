// The sets of an experiment as samples on their devices.
#pragma once

#include <string>
#include <vector>

#include "validation/experiment_data.h"
#include "validation/experiment_run.h"

namespace tilecast::validation {

struct LoadedSets {
  std::vector<measured::SampleSet> sets;
  std::vector<hwdesc::Device> devices;  // by set
  std::vector<std::string> names;       // of the source, by set
  std::vector<ResultSet> described;     // by set
  std::vector<std::string> notes;       // about rows taken at random
  std::vector<bool> is_default;         // by row of rows_of: fits Experiment::default_run
};

// Rows without a time are among them where a learner's target is another quantity. Throws Error of
// the importers, and for a source without a row that can be used.
[[nodiscard]] LoadedSets load_sets(const Experiment& experiment, ExperimentData& data, int jobs);

// Copies with the samples of these rows alone, in the order of rows_of; works stay.
[[nodiscard]] std::vector<measured::SampleSet> restricted(std::span<const measured::SampleSet> sets,
                                                          std::span<const std::size_t> rows);

// All rows, in the order of rows_of, and what needs no fit; fitted columns are as the analytical.
[[nodiscard]] measured::ScoreSheet base_sheet(const Experiment& experiment,
                                              const LoadedSets& loaded, int jobs);
[[nodiscard]] std::size_t column_index(const Experiment& experiment, std::string_view column);

}  // namespace tilecast::validation
