// Writes a measurement set where nobody sees half of it: into a temporary folder beside its place,
// which `commit` moves there. Without `commit` the temporary folder goes away again.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "measured/importers/importer.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

class SetWriter {
 public:
  // Throws Error when the place is taken (unless `force`, and only a measurement set is replaced)
  // or cannot be written.
  SetWriter(const std::string& target, bool force);
  ~SetWriter();
  SetWriter(const SetWriter&) = delete;
  SetWriter& operator=(const SetWriter&) = delete;

  // Starts measurements.csv; then one `add` per row, in the order of `columns`.
  void begin_rows(const std::vector<std::string>& columns);
  void add(const std::vector<std::string>& cells);
  // A file of the set, `name` relative to it ("kernels/a.hlo"). Throws Error.
  void add_file(const std::string& name, std::string_view bytes);
  // Opens a file of the set for a stream too large for memory.
  [[nodiscard]] std::ofstream open_file(const std::string& name);
  void commit(const Manifest& manifest);

 private:
  void flush();

  std::string target_, temporary_;
  bool committed_ = false;
  std::ofstream rows_;
  std::string pending_;
};

}  // namespace tilecast::measured
