#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

namespace tilecast::fuzz {

void broken(const std::string& what) {
  std::fprintf(stderr, "property does not hold: %s\n", what.c_str());
  std::abort();
}

std::string file_of(Bytes bytes, const std::string& name) {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path made =
        std::filesystem::temp_directory_path() / ("tilecast_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    return made;
  }();
  const std::string path = (folder / name).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace tilecast::fuzz
