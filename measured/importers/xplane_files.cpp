#include "measured/importers/xplane_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "measured/importers/byte_source.h"
#include "measured/importers/xplane.h"

namespace tilecast::measured {
namespace {

namespace fs = std::filesystem;
constexpr int kRunDepth = 3;  // plugins/profile/RUN

}  // namespace

std::vector<std::string> xplane_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::error_code failure;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, failure)) {
      files.push_back(path);
      continue;
    }
    std::map<std::string, std::vector<std::string>> runs;
    const auto skip = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator entry(path, skip, failure), end;
    for (; !failure && entry != end; entry.increment(failure)) {
      if (entry.depth() >= kRunDepth) entry.disable_recursion_pending();
      const std::string name = entry->path().filename().string();
      if (name.ends_with(".xplane.pb") || name.ends_with(".xplane.pb.gz")) {
        runs[entry->path().parent_path().filename().string()].push_back(entry->path().string());
      }
    }
    if (runs.empty()) {
      throw Error(
          fmt::format("{}: holds no profile; expected *.xplane.pb in the folder or in "
                      "plugins/profile/RUN below it",
                      path));
    }
    std::vector<std::string>& newest = runs.rbegin()->second;
    std::sort(newest.begin(), newest.end());
    files.insert(files.end(), newest.begin(), newest.end());
  }
  if (files.empty()) throw Error("expected a profile (*.xplane.pb)");
  return files;
}

// Recognises the first plane: field 1, then its id (field 1, a varint) if present, then its name.
bool is_xplane(const std::string& path) {
  constexpr char kPlanes = 0x0a, kId = 0x08, kName = 0x12;
  std::string bytes;
  try {
    if (!ByteSource(path).read_more(bytes) || bytes.front() != kPlanes) return false;
  } catch (const Error&) {
    return false;
  }
  std::size_t at = 1;
  const auto skip_number = [&] {
    while (at < bytes.size() && (bytes[at] & 0x80) != 0) ++at;
    ++at;
  };
  skip_number();
  if (at < bytes.size() && bytes[at] == kId) {
    ++at;
    skip_number();
  }
  return at < bytes.size() && bytes[at] == kName;
}

}  // namespace tilecast::measured
