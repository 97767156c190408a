// The trials of `tilecast tune tiles`, stored in a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measured/growing_csv.h"
#include "search/tuner.h"

namespace tilecast::sim::cli {

// CSV of trials: trial, index, tile, predicted_ns, measured_ns (empty: it failed). Each trial is
// written as soon as it is measured, and an incomplete last line is dropped on reading, so a search
// can resume after any interruption. Not thread-safe.
class TrialFile {
 public:
  // `file`: if it exists, its trials are known; empty: nothing is stored. `tiles`: one text per
  // candidate. Throws Error for a file with other tiles or another format.
  TrialFile(const std::string& file, const std::vector<std::string>& tiles);

  [[nodiscard]] const std::vector<search::TuneTrial>& known() const { return known_; }
  void add(const search::TuneTrial& trial);

 private:
  measured::GrowingCsv file_;
  const std::vector<std::string>& tiles_;
  std::vector<search::TuneTrial> known_;
  std::size_t trials_ = 0;
};

}  // namespace tilecast::sim::cli
