#include "base/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tilecast::base {
namespace {

constexpr std::size_t kUnpackBytes = 1 << 20;
constexpr int kGzipWindow = 15 + 16;  // the largest window; gzip's header, not zlib's

// inflate() with its state; `bytes_` is the remaining input.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes) : bytes_(bytes) {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw Error("gzip: out of memory");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the next output to `out`; returns zlib's code.
  int step(std::string& out) {
    const std::size_t before = out.size();
    out.resize(before + kUnpackBytes);
    const std::size_t take =
        std::min<std::size_t>(bytes_.size(), std::numeric_limits<unsigned>::max());
    // zlib does not write to its input, but older declarations say that it may.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data()));
    stream_.avail_in = static_cast<unsigned>(take);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream_.avail_out = kUnpackBytes;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    bytes_.remove_prefix(take - stream_.avail_in);
    out.resize(out.size() - stream_.avail_out);
    return code;
  }
  // At the end of a member: starts the next one, if there is one.
  bool next_member() { return is_gzip(bytes_) && inflateReset(&stream_) == Z_OK; }

 private:
  std::string_view bytes_;
  z_stream stream_ = {};
};

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

std::string unpack_gzip(std::string_view bytes, const std::string& file, std::size_t max_bytes) {
  Inflater inflater(bytes);
  std::string out;
  for (;;) {
    const int code = inflater.step(out);
    if (out.size() > max_bytes) {
      throw Error(fmt::format("{}: unpacks to more than the limit of {} bytes", file, max_bytes));
    }
    if (code == Z_STREAM_END && !inflater.next_member()) return out;
    if (code == Z_BUF_ERROR) throw Error(fmt::format("{}: its gzip data ends too early", file));
    if (code != Z_OK && code != Z_STREAM_END) {
      throw Error(fmt::format("{}: its gzip data is damaged", file));
    }
  }
}

}  // namespace tilecast::base
