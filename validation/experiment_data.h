// The measurements of an experiment: imported into a temporary folder, once per run of the command.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measured/measurement_set.h"
#include "validation/experiment.h"

namespace tilecast::validation {

// Not thread-safe. The temporary folder goes with the object.
class ExperimentData {
 public:
  // `folder`: what the paths of experiments are relative to. Throws Error when no temporary folder
  // can be made.
  explicit ExperimentData(std::string folder);
  ~ExperimentData();
  ExperimentData(const ExperimentData&) = delete;
  ExperimentData& operator=(const ExperimentData&) = delete;

  // The first path of the experiment that was not found; nullopt when all are.
  [[nodiscard]] std::optional<std::string> missing(const Experiment& experiment) const;
  // Throws Error of the importer. `device`: of a program.
  [[nodiscard]] measured::MeasurementSet read(const ExperimentSource& source,
                                              const std::string& device);

 private:
  [[nodiscard]] std::string path(const std::string& from) const;
  void import(const ExperimentSource& source, const std::string& device,
              const std::string& target) const;

  std::string folder_, temporary_;
  std::map<std::string, std::string> imported_;  // source -> set
};

}  // namespace tilecast::validation
