// Writes a measurement set where nobody sees half of it: into a temporary folder beside its place,
// which `commit` moves there. Without `commit` the temporary folder goes away again.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

class SetWriter {
 public:
  // Throws Error when the place is taken (unless `force`, and only a measurement set is replaced)
  // or cannot be written, and for a device that is none.
  explicit SetWriter(const ImportOptions& options);

  // Starts measurements.csv; then one `add` per row, in the order of `columns`.
  void begin_rows(const std::vector<std::string>& columns);
  void add(const std::vector<std::string>& cells);
  // A file of the set, `name` relative to it ("kernels/a.hlo"). Throws Error.
  void add_file(const std::string& name, std::string_view bytes);
  // Opens a file of the set for a stream too large for memory.
  [[nodiscard]] std::ofstream open_file(const std::string& name);
  // With the device and the name of the options where given. Descriptions of devices are copied
  // into the set. Throws Error.
  void commit(Manifest manifest);

 private:
  void flush();
  void copy_device(std::string& device);

  std::string target_, device_, name_;
  std::optional<base::OutputClaim> claim_;
  std::optional<base::FolderBeside> fresh_;
  std::ofstream rows_;
  std::string pending_;
  std::map<std::string, std::string> copies_;  // of devices: path -> file of the set
};

}  // namespace tilecast::measured
