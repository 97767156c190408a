// The rows of one source, mapped and written: what operator tables and Kernel Tuner share.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "measured/importers/column_mapping.h"
#include "measured/importers/importer.h"
#include "measured/importers/module_copies.h"
#include "measured/importers/set_writer.h"

namespace tilecast::measured {

// Where the rows of all sources of one set go.
struct MappedSet {
  SetWriter& writer;
  ImportReport& report;
  std::vector<std::string> targets;  // the columns `writer` began with
  ModuleCopies modules;              // files that rows name
  std::string module_folder;         // where they are; empty: beside their table
  std::set<std::string> devices;     // cells of column `device` that were written
};

class MappedRows {
 public:
  // Throws Error for columns the source has not. `set` must outlive the rows.
  MappedRows(TableMapping table, const std::vector<std::string>& source_columns,
             const std::string& source_file, MappedSet& set);

  // Does the row pass the table's `where`?
  [[nodiscard]] bool takes(const std::vector<std::string_view>& row) const;
  // One row of the source. Throws RowError (starting with `where()`) for a row in error; nothing is
  // written of it.
  void add(const std::vector<std::string_view>& row, const std::function<std::string()>& where);
  // Writes what was held back to find the fastest of equal rows.
  void finish();

 private:
  struct Place {
    std::size_t cell;  // of the rule's target, in a row of the set
    bool is_file;      // names an HLO file
    bool tells_apart;  // says what ran, not how long it took or what it was called
  };
  void hold();
  void write(const std::vector<std::string>& cells);

  TableMapping table_;
  MappedSet& set_;
  std::string folder_;  // of the files that rows name
  std::vector<Place> places_;
  std::vector<std::string> cells_;
  std::size_t device_ = 0;                              // place of device in cells_, or beyond them
  std::size_t runtime_ = 0;                             // place of runtime_ns in cells_
  std::vector<std::vector<std::string>> held_;          // in the order they first came
  std::unordered_map<std::string, std::size_t> equal_;  // what ran -> its row in held_
};

}  // namespace tilecast::measured
