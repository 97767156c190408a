#include "tests/support/folders.h"

#include <cstdlib>

namespace tilecast::support {

std::filesystem::path source_dir() {
  return TILECAST_SOURCE_DIR;
}

std::filesystem::path shared_dir() {
  const char* const chosen = std::getenv("TILECAST_SHARED");
  return chosen != nullptr ? std::filesystem::path(chosen) : source_dir().parent_path() / "shared";
}

}  // namespace tilecast::support
