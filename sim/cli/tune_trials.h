// The trials of `tilecast tune tiles`: the file they are kept in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measured/growing_csv.h"
#include "search/tuner.h"

namespace tilecast::sim::cli {

// CSV of trials: trial, index, tile, predicted_ns, measured_ns (empty: it failed). Every trial is
// there once it has been measured; a torn last line is dropped, so that a search can go on after
// any interruption. Not thread-safe.
class TrialFile {
 public:
  // `file`: its trials are known where it exists; empty: nothing is kept. `tiles`: by candidate, as
  // text. Throws Error for a file of other tiles, or of something else.
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
