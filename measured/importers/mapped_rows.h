// Maps the rows of one source and writes them to a set; used for operator tables and Kernel Tuner
// caches.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {

// Copies the HLO files named in rows to the set's kernels/ folder; each is read and parsed once.

class ModuleCopies {
 public:
  explicit ModuleCopies(SetWriter& writer) : writer_(writer) {}

  // `cell`: a file in or below `folder`, or FILE#KERNEL. Returns its name in the set. Throws Error
  // for a path outside the folder, a file that is not HLO, and two files with the same name.
  std::string take(const std::string& folder, std::string_view cell);

 private:
  SetWriter& writer_;
  std::map<std::string, std::string> known_;  // name -> folder
};

// The common destination of the rows of all sources of a set.
struct MappedSet {
  SetWriter& writer;
  ImportReport& report;
  std::vector<std::string> targets;  // the columns passed to writer.begin_rows()
  ModuleCopies modules;              // HLO files named in rows
  std::string module_folder;         // folder of these files; empty: that of their table
  std::set<std::string> devices;     // values written to column `device`
};

class MappedRows {
 public:
  // Throws Error for columns missing in the source. `set` must outlive this object.
  MappedRows(TableMapping table, const std::vector<std::string>& source_columns,
             const std::string& source_file, MappedSet& set);

  // Whether the row passes the table's `where`.
  [[nodiscard]] bool takes(const std::vector<std::string_view>& row) const;
  // Adds a row of the source. Throws RowError (starting with `where()`) for a bad row, of which
  // nothing is written.
  void add(const std::vector<std::string_view>& row, const std::function<std::string()>& where);
  // Writes the rows held back to find the fastest of equal rows.
  void finish();

 private:
  struct Place {
    std::size_t cell;  // index of the rule's target in a row of the set
    bool is_file;      // the cell names an HLO file
    bool tells_apart;  // identifies what ran, rather than its time or name
  };
  void hold();
  void write(const std::vector<std::string>& cells);

  TableMapping table_;
  MappedSet& set_;
  std::string folder_;  // folder of the HLO files named in rows
  std::vector<Place> places_;
  std::vector<std::string> cells_;
  std::size_t device_ = 0;                      // index of device in cells_; past the end if absent
  std::size_t runtime_ = 0;                     // index of runtime_ns in cells_
  std::vector<std::vector<std::string>> held_;  // in order of first occurrence
  std::unordered_map<std::string, std::size_t> equal_;  // key of what ran -> index in held_
};

}  // namespace tilecast::measured
