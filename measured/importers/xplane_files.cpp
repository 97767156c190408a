#include "measured/importers/xplane_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"

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

}  // namespace tilecast::measured
