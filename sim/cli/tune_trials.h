// The trials of `tilecast tune tiles`: the file they are kept in, and the command that measures
// one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hwdesc/units.h"
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

// A shell command with {tile} and {index} replaced; its last line that is a time ("12.3 us", or a
// number of seconds) is the answer.
struct Command {
  std::string text;
  Seconds timeout;
};
// Seconds, or nothing and why not: how it ended, and the end of what it printed.
struct CommandTime {
  std::optional<double> seconds;
  std::string reason;
};
[[nodiscard]] CommandTime time_by(const Command& command, const std::string& tile,
                                  std::size_t index);

}  // namespace tilecast::sim::cli
