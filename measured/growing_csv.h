// A CSV file to which a long job appends rows, so that it can resume after an interruption.
//
//   GrowingCsv file("trials.csv", {"trial", "measured_ns"});
//   for (const CsvRow& row : file.known().rows) ...    // rows from earlier runs
//   file.add({"17", "12.5"});                          // survives the end of this process
//
// An incomplete last row is dropped. Not thread-safe; the file is locked for one process at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "measured/csv.h"

namespace tilecast::measured {

class GrowingCsv {
 public:
  // With an empty name nothing is stored. Throws Error if the file has other columns (it is not
  // changed), has a malformed row before the last one, or cannot be written.
  GrowingCsv(std::string file, std::vector<std::string> columns);

  [[nodiscard]] const CsvTable& known() const { return known_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }  // bytes of an incomplete last row
  void add(const std::vector<std::string>& cells) { write(csv_line(cells)); }
  // Appends whole lines and returns when they are on disk, so that they survive a power failure.
  void add_durably(std::string_view lines);

 private:
  void write(std::string_view lines);

  CsvTable known_;
  std::size_t dropped_ = 0;
  std::optional<base::GrowingFile> out_;
};

// Reads a cell in nanoseconds as seconds; nullopt if empty. Throws Error unless the time is above
// 0.
[[nodiscard]] std::optional<double> time_ns_cell(const CsvTable& table, const CsvRow& row,
                                                 std::string_view column);
[[nodiscard]] std::string time_ns_text(const std::optional<double>& seconds);

}  // namespace tilecast::measured
