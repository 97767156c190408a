// Writes a measurement set atomically: into a temporary folder next to its destination, to which
// `commit` moves it. Without `commit` the temporary folder is removed.
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
  // Throws Error if the destination exists (`force` replaces it if it is a measurement set), if it
  // cannot be written, and if the device is unknown.
  explicit SetWriter(const ImportOptions& options);

  // Starts measurements.csv. Then call `add` once per row, with cells in the order of `columns`.
  void begin_rows(const std::vector<std::string>& columns);
  void add(const std::vector<std::string>& cells);
  // Adds a file with the relative path `name` ("kernels/a.hlo"). Throws Error.
  void add_file(const std::string& name, std::string_view bytes);
  // Opens a file of the set for content too large for memory.
  [[nodiscard]] std::ofstream open_file(const std::string& name);
  // Completes the set. Device and name from the options, if given, override the manifest's. Device
  // descriptions given by path are copied into the set. Throws Error.
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
