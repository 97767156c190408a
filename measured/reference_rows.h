// Published results of other models on their own data, with their source, so that reports can show
// them next to ours, marked as such. They are never used in computations.
//
//   for (const ReferenceRow& row : read_references("configs/references")) ...
//
// Keys of a file: format (tilecast.references/1), name, source, tables[]. Of a table: where ("Table
// 2"), metric, unit (% | tau), hardware, data, split, columns[], rows[] of [subject, value per
// column]; optional: note, read_off_plot, second_hand (quoted elsewhere, not checked at its
// source).
#pragma once

#include <string>
#include <vector>

namespace tilecast::measured {

struct ReferenceRow {
  std::string file;                   // `name` in the file: "kaufman_mlsys_2021"
  std::string source, where;          // publication; table, figure or section of it
  std::string metric, unit;           // "%": 0 and up; "tau": -1 ... 1
  std::string hardware, data, split;  // what it was measured on and how rows were held out
  std::string subject, column;        // the table's row and column
  double value = 0;                   // in `unit`
  std::string note;                   // or empty
  bool read_off_plot = false, second_hand = false;
};

// Reads a file, or all *.yaml of a folder in order of name. Throws Error with file, line and
// column.
[[nodiscard]] std::vector<ReferenceRow> read_references(const std::string& path);
// From text, for tests.
[[nodiscard]] std::vector<ReferenceRow> parse_references(const std::string& text,
                                                         const std::string& file);
// The folder of references shipped with Tilecast, next to the device presets.
[[nodiscard]] std::string reference_folder();

}  // namespace tilecast::measured
