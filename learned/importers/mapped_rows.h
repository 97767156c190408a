// The rows of one source, mapped and written: the loop that operator tables and Kernel Tuner share.
#pragma once

#include "learned/importers/column_mapping.h"
#include "learned/importers/importer.h"
#include "learned/importers/row_source.h"
#include "learned/importers/set_writer.h"

namespace tilecast::learned {

struct MappedRowsTo {
  SetWriter& writer;
  ImportReport& report;
  bool keep_going = false;
  std::function<void(double)> progress;  // 0 to 1, over this source
};

// `targets`: the columns the writer began with. Throws Error naming file, row and column.
void add_mapped_rows(RowSource& source, TableMapping table, const std::vector<std::string>& targets,
                     const MappedRowsTo& to);

}  // namespace tilecast::learned
