#include "host/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace tilecast::host {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  const char* set = std::getenv("TMPDIR");
  const fs::path parent = set != nullptr && *set != '\0' ? set : "/tmp";
  path_ = (parent / "tilecast-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a folder here: {}; set TMPDIR to a writable one",
                            parent.string(), std::strerror(errno)));
  }
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::string path = file(name);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(fmt::format("{}: cannot be written; is the disk full?", path));
  return path;
}

}  // namespace tilecast::host
