// A measurement set in a private folder, removed at the end.
#pragma once

#include <filesystem>
#include <string>

#include "measured/measurement_set.h"
#include "tests/support/folders.h"

namespace tilecast::measured {

class SetOnDisk : public support::Folder {
 public:
  // Writes a manifest with the required keys (device tpu_v3, timed on the device) and `more`.
  void write_manifest(const std::string& more = {}) const;
  // Packs the set into an archive in its folder; returns its path.
  [[nodiscard]] std::string pack() const;
  [[nodiscard]] std::string path() const { return folder().string(); }

  // The set, with this table if one is given.
  [[nodiscard]] MeasurementSet read() const { return read_measurement_set(path()); }
  [[nodiscard]] MeasurementSet read(const std::string& table) const;
  // The error message of read() without the folder; "read" if it succeeds.
  [[nodiscard]] std::string message() const;
  [[nodiscard]] std::string message(const std::string& table) const;
  // The text without the folder in its paths.
  [[nodiscard]] std::string inside(const std::string& text) const;
};

}  // namespace tilecast::measured
