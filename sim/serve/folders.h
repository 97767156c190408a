// The folders that a server may read; access to any other file is refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilecast::sim::serve {

class Folders {
 public:
  // Throws Error for a folder that does not exist.
  explicit Folders(const std::vector<std::string>& folders);
  // The regular file with this relative name in the first folder that contains it, with links
  // resolved. Throws Error, with the same text for files outside the folders and missing files.
  [[nodiscard]] std::string file(const std::string& name) const;
  // A text that changes when that file is written again.
  [[nodiscard]] std::string version(const std::string& name) const;
  // Relative names of the files that file() finds, sorted; at most `most`.
  [[nodiscard]] std::vector<std::string> list(std::size_t most) const;

 private:
  std::vector<std::filesystem::path> folders_;  // canonical
};

}  // namespace tilecast::sim::serve
