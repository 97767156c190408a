// The module that base/archive.cpp loads: its C symbols, and zip archives by libzip.
#include <fmt/format.h>
#include <zip.h>

#include "base/archive.h"
#include "base/error.h"
#include "base/plugin.h"

namespace tilecast::base {
namespace {

// Deflate packs at most 1,032 to 1; an entry that claims more holds something else.
constexpr std::uint64_t kMostPacked = 1032, kPackedSlack = 64;

struct CloseArchive {
  void operator()(zip* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file* file) const { zip_fclose(file); }
};

class LibzipArchive final : public ZipArchive {
 public:
  explicit LibzipArchive(const std::string& path) {
    int code = 0;
    zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (zip_) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(message);
  }
  [[nodiscard]] bool has(const std::string& entry) const override { return index(entry) >= 0; }

  [[nodiscard]] std::string read(const std::string& entry, std::size_t max_bytes) override {
    if (!has(entry)) throw Error("no such file in the archive");
    const auto at = static_cast<zip_uint64_t>(index(entry));
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr auto kSizes = zip_uint64_t{ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE};
    if (zip_stat_index(zip_.get(), at, 0, &stat) != 0 || (stat.valid & kSizes) != kSizes) {
      throw Error("its size is missing");
    }
    if (stat.size / kMostPacked > stat.comp_size + kPackedSlack) {
      throw Error("its size cannot be right");
    }
    if (stat.size > max_bytes) {
      throw Error(fmt::format("larger than the limit of {} bytes", max_bytes));
    }
    const std::unique_ptr<zip_file, CloseEntry> file(zip_fopen_index(zip_.get(), at, 0));
    if (!file) throw Error(std::string("cannot read: ") + zip_strerror(zip_.get()));
    std::string text(stat.size, '\0');
    for (std::size_t done = 0; done < text.size();) {
      const std::size_t got = next(*file, text.data() + done, text.size() - done);
      if (got == 0) throw Error("ends too early");
      done += got;
    }
    char beyond = 0;  // libzip checks the sum of the bytes at the end of the entry
    if (next(*file, &beyond, 1) != 0) throw Error("damaged: goes on beyond its size");
    return text;
  }

 private:
  [[nodiscard]] zip_int64_t index(const std::string& entry) const {
    return zip_name_locate(zip_.get(), entry.c_str(), 0);
  }
  // At most `count` of the next bytes; 0: the end.
  static std::size_t next(zip_file& file, char* to, std::size_t count) {
    const zip_int64_t got = zip_fread(&file, to, count);
    if (got < 0) throw Error(std::string("cannot read: ") + zip_file_strerror(&file));
    return static_cast<std::size_t>(got);
  }

  std::unique_ptr<zip, CloseArchive> zip_;
};

std::unique_ptr<ZipArchive> open_with_libzip(const std::string& path) {
  return std::make_unique<LibzipArchive>(path);
}

}  // namespace
}  // namespace tilecast::base

TILECAST_PLUGIN(zip, tilecast::base::kZipModuleAbi, &tilecast::base::open_with_libzip)
