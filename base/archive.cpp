#include "base/archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/error.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;

// Deflate packs at most 1,032 to 1; an entry that claims more holds something else.
constexpr std::uint64_t kMostPacked = 1032, kPackedSlack = 64;

struct CloseArchive {
  void operator()(zip* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file* file) const { zip_fclose(file); }
};

class Archive {
 public:
  explicit Archive(std::string path) : path_(std::move(path)) {
    int code = 0;
    zip_.reset(zip_open(path_.c_str(), ZIP_RDONLY, &code));
    if (zip_) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(fmt::format("{}: cannot open it as a zip archive: {}", path_, message));
  }

  [[nodiscard]] bool has(const std::string& entry) {
    const std::scoped_lock lock(mutex_);
    return zip_name_locate(zip_.get(), entry.c_str(), 0) >= 0;
  }

  [[nodiscard]] std::string read(const std::string& entry, std::size_t max_bytes) {
    const std::scoped_lock lock(mutex_);
    const std::string where = fmt::format("{}/{}", path_, entry);
    const zip_int64_t index = zip_name_locate(zip_.get(), entry.c_str(), 0);
    if (index < 0) throw Error(fmt::format("{}: no such file in the archive", where));
    const auto at = static_cast<zip_uint64_t>(index);
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr auto kSizes = zip_uint64_t{ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE};
    if (zip_stat_index(zip_.get(), at, 0, &stat) != 0 || (stat.valid & kSizes) != kSizes ||
        stat.size / kMostPacked > stat.comp_size + kPackedSlack) {
      throw Error(fmt::format("{}: its size is missing or cannot be right", where));
    }
    if (stat.size > max_bytes) {
      throw Error(fmt::format("{}: larger than the limit of {} bytes", where, max_bytes));
    }
    const std::unique_ptr<zip_file, CloseEntry> file(zip_fopen_index(zip_.get(), at, 0));
    if (!file) throw Error(fmt::format("{}: cannot read: {}", where, zip_strerror(zip_.get())));
    std::string text(stat.size, '\0');
    for (std::size_t done = 0; done < text.size();) {
      const zip_int64_t got = zip_fread(file.get(), text.data() + done, text.size() - done);
      if (got <= 0) {
        throw Error(fmt::format("{}: cannot read: {}", where,
                                got == 0 ? "ends too early" : zip_file_strerror(file.get())));
      }
      done += static_cast<std::size_t>(got);
    }
    char beyond = 0;  // libzip checks the sum of the bytes at the end of the entry
    if (zip_fread(file.get(), &beyond, 1) != 0) {
      throw Error(fmt::format("{}: damaged: {}", where, zip_file_strerror(file.get())));
    }
    return text;
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<zip, CloseArchive> zip_;
};

// The archive on disk as it is now, open since it was first asked for; null: the file is none.
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

// The archive that the path leads into, and the entry it names there; no archive: into none.
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
