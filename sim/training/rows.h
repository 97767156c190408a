// The measurements of a training file: imported into a temporary folder, once per run of the
// command, then read as samples on their devices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/child_process.h"
#include "measured/measurement_set.h"
#include "measured/splits.h"
#include "sim/training/training_file.h"

namespace tilecast::sim::training {

// Not thread-safe. The destructor removes the temporary folder.
class ImportedData {
 public:
  // `folder`: the base of relative paths. Throws Error if no temporary folder can be created.
  explicit ImportedData(std::string folder) : folder_(std::move(folder)) {}

  // The first path of the file's data that does not exist; nullopt if all exist.
  [[nodiscard]] std::optional<std::string> missing(const TrainingFile& file) const;
  // Throws the importer's Error. `device`: for importer `program`.
  [[nodiscard]] measured::MeasurementSet read(const DataSource& source, const std::string& device);

 private:
  [[nodiscard]] std::string path(const std::string& from) const;
  void import(const DataSource& source, const std::string& device, const std::string& target) const;

  std::string folder_;
  host::TemporaryFolder temporary_;
  std::map<std::string, std::string> imported_;  // source -> set
};

struct SetSummary {
  std::string name, hash, device;
  std::size_t rows = 0, left_out = 0, with_dispatch = 0;
};
struct LoadedSets {
  std::vector<measured::SampleSet> sets;
  std::vector<hwdesc::Device> devices;  // by set
  std::vector<std::string> names;       // name of the source, by set
  std::vector<SetSummary> described;    // by set
  std::vector<std::string> notes;       // about rows sampled at random
};

// Called with each set and its samples, in order.
using SeenSet = std::function<void(const measured::MeasurementSet&, const measured::SampleSet&)>;
// Includes rows without a time if a learner's target is another quantity. Throws the importers'
// Error, and Error for a source without usable rows.
[[nodiscard]] LoadedSets load_sets(const TrainingFile& file, ImportedData& data, int jobs,
                                   const SeenSet& seen = {});

// A sample of one of the sets; and all samples of all sets, set by set.
struct RowPlace {
  std::size_t set = 0, sample = 0;
};
[[nodiscard]] std::vector<RowPlace> rows_of(std::span<const measured::SampleSet> sets);

// Copies that contain only the samples of these rows, in the order of rows_of(); workloads stay.
[[nodiscard]] std::vector<measured::SampleSet> restricted(std::span<const measured::SampleSet> sets,
                                                          std::span<const std::size_t> rows);

// All rows, in the order of rows_of(), with the columns that need no fit; other columns are copies
// of the analytical one.
[[nodiscard]] measured::ScoreSheet base_sheet(const TrainingFile& file,
                                              const std::vector<std::string>& columns,
                                              const LoadedSets& loaded, int jobs);

// Per row: seconds, comparable to the measured ones, and the 90 % interval.
struct RowAnswers {
  std::vector<std::optional<double>> predicted_s;
  std::vector<std::optional<measured::Interval>> interval_s;
};
// A model's predictions for these rows, each on its device in `devices` (by set).
[[nodiscard]] RowAnswers predict_rows(const analytical::CostModel& model, const LoadedSets& loaded,
                                      const std::vector<hwdesc::Device>& devices,
                                      std::span<const std::size_t> rows, int jobs);

// Assigns rows to the fitted and the scored side, per round.
struct NamedSplit {
  std::string name;
  measured::Split split;  // indices into rows_of()
};

// `names`: of the sources, by set. Throws Error for selectors that match no row and for splits
// without rows to score or without rows to fit.
[[nodiscard]] std::vector<NamedSplit> deal_rows(const TrainingFile& file,
                                                std::span<const measured::SampleSet> sets,
                                                std::span<const std::string> names);

// What must not be on both sides: a row, equal work on one device, equal work.
enum class Apart { kRows, kWorksOnDevice, kWorks };
[[nodiscard]] Apart apart(SplitKind kind);

// Throws Error if `split` violates it.
void require_disjoint(const measured::Split& split, std::span<const measured::SampleSet> sets,
                      Apart apart, const std::string& where);

}  // namespace tilecast::sim::training
