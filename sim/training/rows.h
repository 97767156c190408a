// The measurements of a training file: imported into a temporary folder, once per run of the
// command, then samples on their devices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measured/measurement_set.h"
#include "sim/training/training_file.h"

namespace tilecast::sim::training {

// Not thread-safe. The temporary folder goes with the object.
class ImportedData {
 public:
  // `folder`: what the paths of files are relative to. Throws Error when no temporary folder can be
  // made.
  explicit ImportedData(std::string folder);
  ~ImportedData();
  ImportedData(const ImportedData&) = delete;
  ImportedData& operator=(const ImportedData&) = delete;

  // The first path of the file's data that was not found; nullopt when all are.
  [[nodiscard]] std::optional<std::string> missing(const TrainingFile& file) const;
  // Throws Error of the importer. `device`: of a program.
  [[nodiscard]] measured::MeasurementSet read(const DataSource& source, const std::string& device);

 private:
  [[nodiscard]] std::string path(const std::string& from) const;
  void import(const DataSource& source, const std::string& device, const std::string& target) const;

  std::string folder_, temporary_;
  std::map<std::string, std::string> imported_;  // source -> set
};

struct SetSummary {
  std::string name, hash, device;
  std::size_t rows = 0, left_out = 0, with_dispatch = 0;
};
struct LoadedSets {
  std::vector<measured::SampleSet> sets;
  std::vector<hwdesc::Device> devices;  // by set
  std::vector<std::string> names;       // of the source, by set
  std::vector<SetSummary> described;    // by set
  std::vector<std::string> notes;       // about rows taken at random
};

// Called with each set and its samples, in their order.
using SeenSet = std::function<void(const measured::MeasurementSet&, const measured::SampleSet&)>;
// Rows without a time are among them where a learner's target is another quantity. Throws Error of
// the importers, and for a source without a row that can be used.
[[nodiscard]] LoadedSets load_sets(const TrainingFile& file, ImportedData& data, int jobs,
                                   const SeenSet& seen = {});

// A sample of one of the sets; and all samples of all sets, one set after the other.
struct RowPlace {
  std::size_t set = 0, sample = 0;
};
[[nodiscard]] std::vector<RowPlace> rows_of(std::span<const measured::SampleSet> sets);

// Copies with the samples of these rows alone, in the order of rows_of; works stay.
[[nodiscard]] std::vector<measured::SampleSet> restricted(std::span<const measured::SampleSet> sets,
                                                          std::span<const std::size_t> rows);

// All rows, in the order of rows_of, and what needs no fit; other columns are as the analytical.
[[nodiscard]] measured::ScoreSheet base_sheet(const TrainingFile& file,
                                              const std::vector<std::string>& columns,
                                              const LoadedSets& loaded, int jobs);

// Seconds, comparable to the measured ones, and the 90 % interval, by row.
struct RowAnswers {
  std::vector<std::optional<double>> predicted_s;
  std::vector<std::optional<measured::Interval>> interval_s;
};
// What a model says of these rows, each on its device of `devices` (by set).
[[nodiscard]] RowAnswers predict_rows(const analytical::CostModel& model, const LoadedSets& loaded,
                                      const std::vector<hwdesc::Device>& devices,
                                      std::span<const std::size_t> rows, int jobs);

}  // namespace tilecast::sim::training
