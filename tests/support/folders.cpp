#include "tests/support/folders.h"

#include <algorithm>
#include <cstdlib>

namespace tilecast::support {

std::filesystem::path source_dir() {
  return TILECAST_SOURCE_DIR;
}

std::filesystem::path shared_dir() {
  const char* const chosen = std::getenv("TILECAST_SHARED");
  return chosen != nullptr ? std::filesystem::path(chosen) : source_dir().parent_path() / "shared";
}

std::vector<std::filesystem::path> shared_files(const std::string& folder,
                                                const std::string& extension) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = shared_dir() / folder;
  if (!std::filesystem::is_directory(root)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tilecast::support
