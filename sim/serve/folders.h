// The folders that a server may read, and nothing beside them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilecast::sim::serve {

class Folders {
 public:
  // Throws Error for one that is not there.
  explicit Folders(const std::vector<std::string>& folders);
  // The regular file of this relative name below the first folder that has it, links resolved.
  // Throws Error, with the same text for a file outside and one that does not exist.
  [[nodiscard]] std::string file(const std::string& name) const;
  // Of that file: another text after it was written again.
  [[nodiscard]] std::string version(const std::string& name) const;
  // Relative names of what file() finds, sorted; at most `most`.
  [[nodiscard]] std::vector<std::string> list(std::size_t most) const;

 private:
  std::vector<std::filesystem::path> folders_;  // canonical
};

}  // namespace tilecast::sim::serve
