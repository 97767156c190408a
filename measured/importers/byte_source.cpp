#include "measured/importers/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/output_file.h"

namespace tilecast::measured {
namespace {

constexpr unsigned kChunkBytes = 256 << 10;

}  // namespace

struct ByteSource::File {
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  std::unique_ptr<gzFile_s, Close> gz;
  double bytes_on_disk = 0;
  bool ended = false;
};

ByteSource::ByteSource(std::string path) : path_(std::move(path)), file_(new File) {
  std::error_code failure;
  if (std::filesystem::is_directory(path_, failure)) {
    throw Error(fmt::format("{}: got a folder, expected a file", path_));
  }
  base::refuse_claimed(path_);
  file_->gz.reset(gzopen(path_.c_str(), "rb"));
  if (!file_->gz) {
    throw Error(fmt::format("{}: cannot open it: {}", path_, std::strerror(errno)));
  }
  gzbuffer(file_->gz.get(), kChunkBytes);
  const auto size = std::filesystem::file_size(path_, failure);
  if (!failure) file_->bytes_on_disk = static_cast<double>(size);
}

ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;

bool ByteSource::read_more(std::string& buffer) {
  if (file_->ended) return false;
  const std::size_t before = buffer.size();
  buffer.resize(before + kChunkBytes);
  const int got = gzread(file_->gz.get(), buffer.data() + before, kChunkBytes);
  buffer.resize(before + static_cast<std::size_t>(std::max(got, 0)));
  if (got > 0 && static_cast<unsigned>(got) == kChunkBytes) return true;
  int code = Z_OK;
  const char* what = gzerror(file_->gz.get(), &code);
  if (got < 0 || code != Z_OK) {
    throw Error(code == Z_BUF_ERROR
                    ? fmt::format("{}: the file ends in the middle of its gzip data", path_)
                    : fmt::format("{}: cannot unpack it: {}", path_,
                                  code == Z_ERRNO ? std::strerror(errno) : what));
  }
  file_->ended = got == 0;
  return got > 0;
}

double ByteSource::progress() const {
  if (file_->bytes_on_disk <= 0) return 0;
  return std::min(1.0, static_cast<double>(gzoffset(file_->gz.get())) / file_->bytes_on_disk);
}

}  // namespace tilecast::measured
