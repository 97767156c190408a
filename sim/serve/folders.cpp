#include "sim/serve/folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace tilecast::sim::serve {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && at != path.end();
}

bool is_plain(const std::string& name) {
  constexpr std::size_t kLongest = 1024;
  if (name.empty() || name.size() > kLongest || name.find('\0') != std::string::npos) return false;
  const fs::path path(name);
  return path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

// The resolved path of `folder` / `name`, if it is a file below the folder.
std::optional<fs::path> found_below(const fs::path& folder, const fs::path& name) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder / name, failed);
  if (failed || !is_below(real, folder) || !fs::is_regular_file(real, failed)) return std::nullopt;
  return real;
}

}  // namespace

Folders::Folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code failed;
    const fs::path real = fs::canonical(folder, failed);
    if (failed || !fs::is_directory(real, failed)) {
      throw Error(fmt::format("{}: got no folder; expected one to read programs from", folder));
    }
    folders_.push_back(real);
  }
}

std::string Folders::file(const std::string& name) const {
  if (is_plain(name)) {
    for (const fs::path& folder : folders_) {
      if (const auto real = found_below(folder, name)) return real->string();
    }
  }
  throw Error("program.file: no such file in the folders of this server");
}

std::string Folders::version(const std::string& name) const {
  const fs::path real = file(name);
  std::error_code failed;
  const auto size = fs::file_size(real, failed);
  const auto written = fs::last_write_time(real, failed).time_since_epoch().count();
  return fmt::format("{} {} {}", real.string(), size, written);
}

std::vector<std::string> Folders::list(std::size_t most) const {
  std::vector<std::string> names;
  for (const fs::path& folder : folders_) {
    std::error_code failed;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        failed);
    for (; !failed && at != fs::recursive_directory_iterator() && names.size() < most;
         at.increment(failed)) {
      const fs::path name = at->path().lexically_relative(folder);
      if (found_below(folder, name)) names.push_back(name.string());
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace tilecast::sim::serve
