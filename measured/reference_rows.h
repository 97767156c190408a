// What others published about their models on their data, kept as figures with their source so that
// reports can show them beside ours, marked as others' numbers. Nothing is ever computed from them.
//
//   for (const ReferenceRow& row : read_references("configs/references")) ...
//
// A file: format (tilecast.references/1), name, source, tables[]. A table: where ("Table 2"),
// metric, unit (% | tau), hardware, data, split, columns[], rows[] of [subject, value per column];
// optional: note, read_off_plot, second_hand (quoted elsewhere, not checked at its source).
#pragma once

#include <string>
#include <vector>

namespace tilecast::measured {

struct ReferenceRow {
  std::string file;                   // the name in it: "kaufman_mlsys_2021"
  std::string source, where;          // publication; table, figure or section of it
  std::string metric, unit;           // "%": 0 and up; "tau": -1 ... 1
  std::string hardware, data, split;  // what it was measured on and how rows were held out
  std::string subject, column;        // the table's row and column
  double value = 0;                   // in `unit`
  std::string note;                   // or empty
  bool read_off_plot = false, second_hand = false;
};

// One file, or all *.yaml of a folder by name. Throws Error with file, line and column.
[[nodiscard]] std::vector<ReferenceRow> read_references(const std::string& path);
// From text, for tests.
[[nodiscard]] std::vector<ReferenceRow> parse_references(const std::string& text,
                                                         const std::string& file);
// The folder that ships with the device presets, beside theirs.
[[nodiscard]] std::string reference_folder();

}  // namespace tilecast::measured
