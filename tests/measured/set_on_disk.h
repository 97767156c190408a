// A measurement set in a folder of its own, removed at the end.
#pragma once

#include <filesystem>
#include <string>

namespace tilecast::measured {

class SetOnDisk {
 public:
  SetOnDisk();
  ~SetOnDisk();
  SetOnDisk(const SetOnDisk&) = delete;
  SetOnDisk& operator=(const SetOnDisk&) = delete;

  void write(const std::string& file, const std::string& text) const;
  // With the required keys, timed on the device, of tpu_v3; `more` is appended.
  void write_manifest(const std::string& more = {}) const;
  // The set as one archive, in its own folder; the path.
  [[nodiscard]] std::string pack() const;
  [[nodiscard]] const std::string& path() const { return path_; }

  // What read_measurement_set says, without the folder; "read" when it throws nothing.
  [[nodiscard]] std::string message() const;

 private:
  std::string path_;
};

}  // namespace tilecast::measured
