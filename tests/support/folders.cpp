#include "tests/support/folders.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tilecast::support {

std::filesystem::path source_dir() {
  return TILECAST_SOURCE_DIR;
}

std::filesystem::path shared_dir() {
  const char* const chosen = std::getenv("TILECAST_SHARED");
  return chosen != nullptr ? std::filesystem::path(chosen) : source_dir().parent_path() / "shared";
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Folder::Folder() {
  std::string made = (std::filesystem::temp_directory_path() / "tilecast_test_XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = made;
}

Folder::~Folder() {
  std::error_code failed;
  std::filesystem::remove_all(folder_, failed);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = folder_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::string& extension) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::filesystem::path> shared_files(const std::string& folder,
                                                const std::string& extension) {
  return files_below(shared_dir() / folder, extension);
}

}  // namespace tilecast::support
