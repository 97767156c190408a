// Folders with input data of tests, and private ones that tests write to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilecast::support {

// The root of this repository.
[[nodiscard]] std::filesystem::path source_dir();
// Third-party data, $TILECAST_SHARED or ../shared. Optional: tests skip if it is absent.
[[nodiscard]] std::filesystem::path shared_dir();
// The files below `folder` with this extension, sorted; none if there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                                             const std::string& extension);
// Those of a folder of the third-party data.
[[nodiscard]] std::vector<std::filesystem::path> shared_files(const std::string& folder,
                                                              const std::string& extension);

// All bytes of a file; none if it cannot be read.
[[nodiscard]] std::string bytes_of(const std::filesystem::path& file);

// A private, empty folder, removed with its contents at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  // Creates parent folders; returns the file's path.
  std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const { return bytes_of(at(name)); }

 private:
  std::filesystem::path folder_;
};

}  // namespace tilecast::support
