#include "base/archive.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "base/output_file.h"
#include "base/plugin.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

constexpr Plugin kZip = {"zip", "the module of zip archives", kZipModuleAbi};

class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path) {
    refuse_claimed(path);
    try {
      zip_ = reinterpret_cast<OpenZip*>(load_plugin(kZip))(path);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: cannot open it as a zip archive: {}", path, error.what()));
    }
  }

  [[nodiscard]] bool has(const std::string& entry) {
    const std::scoped_lock lock(mutex_);
    return zip_->has(entry);
  }

  [[nodiscard]] std::string read(const std::string& entry, std::size_t max_bytes) {
    const std::scoped_lock lock(mutex_);
    try {
      return zip_->read(entry, max_bytes);
    } catch (const Error& error) {
      throw Error(fmt::format("{}/{}: {}", path_, entry, error.what()));
    }
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<ZipArchive> zip_;
};

// The archive at `path`, opened on first use and again when the file changes; null if the file is
// not an archive.
Archive* open_archive(const std::string& path) {
  using Version = std::tuple<std::string, fs::file_time_type, std::uintmax_t>;
  static std::mutex mutex;
  static std::map<Version, std::unique_ptr<Archive>> known;
  const std::scoped_lock lock(mutex);
  std::error_code ignored;
  std::unique_ptr<Archive>& archive =
      known[{path, fs::last_write_time(path, ignored), fs::file_size(path, ignored)}];
  if (!archive && is_archive(path)) archive = std::make_unique<Archive>(path);
  return archive.get();
}

struct Entry {
  Archive* archive = nullptr;
  std::string name;
};

// The archive that the path leads into and the entry it names; no archive if there is none.
Entry entry_of(const std::string& path) {
  const fs::path whole = fs::path(path).lexically_normal();
  for (fs::path prefix = whole.parent_path(); !prefix.empty(); prefix = prefix.parent_path()) {
    std::error_code failed;
    if (fs::is_regular_file(prefix, failed)) {
      return {open_archive(prefix.string()), whole.lexically_relative(prefix).generic_string()};
    }
    if (fs::exists(prefix, failed)) break;
  }
  return {};
}

}  // namespace

bool is_archive(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return false;
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rb"),
                                                                &std::fclose);
  char start[4] = {};
  return file && std::fread(start, 1, sizeof start, file.get()) == sizeof start &&
         std::string_view(start, 2) == "PK" && (start[2] == 3 || start[2] == 5);
}

bool is_file(const std::string& path) {
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return true;
  const Entry entry = entry_of(path);
  return entry.archive != nullptr && entry.archive->has(entry.name);
}

std::optional<std::string> read_archived(const std::string& path, std::size_t max_bytes) {
  const Entry entry = entry_of(path);
  if (entry.archive == nullptr) return std::nullopt;
  return entry.archive->read(entry.name, max_bytes);
}

}  // namespace tilecast::base
