// The module that base/archive.cpp loads: its C symbols, and zip archives by libzip.
#include <zip.h>

#include "base/error.h"
#include "base/plugin.h"
#include "base/zip_module.h"

namespace tilecast::base {
namespace {

struct CloseArchive {
  void operator()(zip* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file* file) const { zip_fclose(file); }
};

class LibzipEntry final : public ZipEntry {
 public:
  LibzipEntry(zip* archive, zip_uint64_t index) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr auto kSizes = zip_uint64_t{ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE};
    if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & kSizes) != kSizes) {
      throw Error("its size is missing");
    }
    size_ = stat.size;
    packed_size_ = stat.comp_size;
    file_.reset(zip_fopen_index(archive, index, 0));
    if (!file_) throw Error(std::string("cannot read: ") + zip_strerror(archive));
  }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::uint64_t packed_size() const override { return packed_size_; }
  [[nodiscard]] std::size_t read(char* to, std::size_t count) override {
    const zip_int64_t got = zip_fread(file_.get(), to, count);
    if (got < 0) throw Error(std::string("cannot read: ") + zip_file_strerror(file_.get()));
    return static_cast<std::size_t>(got);
  }

 private:
  std::uint64_t size_ = 0, packed_size_ = 0;
  std::unique_ptr<zip_file, CloseEntry> file_;
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
  [[nodiscard]] std::unique_ptr<ZipEntry> open(const std::string& entry) override {
    const zip_int64_t at = index(entry);
    if (at < 0) return nullptr;
    return std::make_unique<LibzipEntry>(zip_.get(), static_cast<zip_uint64_t>(at));
  }

 private:
  [[nodiscard]] zip_int64_t index(const std::string& entry) const {
    return zip_name_locate(zip_.get(), entry.c_str(), 0);
  }

  std::unique_ptr<zip, CloseArchive> zip_;
};

std::unique_ptr<ZipArchive> open_with_libzip(const std::string& path) {
  return std::make_unique<LibzipArchive>(path);
}

}  // namespace
}  // namespace tilecast::base

TILECAST_PLUGIN(zip, tilecast::base::kZipModuleAbi, &tilecast::base::open_with_libzip)
