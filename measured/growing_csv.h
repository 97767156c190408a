// A CSV file that a long job adds rows to, so that it can go on after any interruption.
//
//   GrowingCsv file("trials.csv", {"trial", "measured_ns"});
//   for (const CsvRow& row : file.known().rows) ...    // of the job so far
//   file.add({"17", "12.5"});                          // kept if this process ends
//
// A torn last row is dropped. Not thread-safe; one process at a time (locked).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "measured/csv.h"

namespace tilecast::measured {

class GrowingCsv {
 public:
  // An empty name: nothing is kept. Throws Error for a file of other columns, which stays as it is,
  // for a broken row before the last one, and where it cannot be written.
  GrowingCsv(std::string file, std::vector<std::string> columns);

  [[nodiscard]] const CsvTable& known() const { return known_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }  // bytes of a torn last row
  void add(const std::vector<std::string>& cells) { write(csv_line(cells)); }
  // Whole lines, on the disk when this returns: kept if the power fails.
  void add_durably(std::string_view lines);

 private:
  void write(std::string_view lines);

  CsvTable known_;
  std::size_t dropped_ = 0;
  std::optional<base::GrowingFile> out_;
};

// Nanoseconds of a time cell as seconds; nothing where it is empty. Throws Error for what is no
// time above 0.
[[nodiscard]] std::optional<double> time_ns_cell(const CsvTable& table, const CsvRow& row,
                                                 std::string_view column);
[[nodiscard]] std::string time_ns_text(const std::optional<double>& seconds);

}  // namespace tilecast::measured
