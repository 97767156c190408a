#include "measured/importers/proto_stream.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace tilecast::measured {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Feeds a file's bytes to protobuf, with one chunk in memory.
class ChunkStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit ChunkStream(ByteSource& source) : source_(source) {}

  bool Next(const void** data, int* size) override {
    if (used_ == chunk_.size()) {
      before_ += static_cast<std::int64_t>(chunk_.size());
      chunk_.clear();
      used_ = 0;
      if (!source_.read_more(chunk_)) return false;
    }
    *data = chunk_.data() + used_;
    *size = static_cast<int>(chunk_.size() - used_);
    used_ = chunk_.size();
    return true;
  }
  void BackUp(int count) override { used_ -= static_cast<std::size_t>(count); }
  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return count == 0;
  }
  [[nodiscard]] std::int64_t ByteCount() const override {
    return before_ + static_cast<std::int64_t>(used_);
  }

 private:
  ByteSource& source_;
  std::string chunk_;
  std::size_t used_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace

void ProtoFields::fail() const {
  throw Error(fmt::format("{}: damaged or cut off at byte {}: no valid protobuf field", path_,
                          start_ + in_.CurrentPosition()));
}

bool ProtoFields::next() {
  if (length_ >= 0 && !in_.Skip(take_length())) fail();
  for (;;) {
    const std::uint32_t tag = in_.ReadTag();
    if (tag == 0) {
      if (!in_.ConsumedEntireMessage()) fail();
      return false;
    }
    field_ = WireFormatLite::GetTagFieldNumber(tag);
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) break;
    if (!WireFormatLite::SkipField(&in_, tag)) fail();
  }
  std::uint32_t length = 0;
  if (!in_.ReadVarint32(&length) ||
      length > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
    fail();
  }
  length_ = static_cast<int>(length);
  const int left = in_.BytesUntilLimit();
  if (left >= 0 && length_ > left) fail();
  return true;
}

int ProtoFields::take_length() {
  return std::exchange(length_, -1);
}

// Memory grows with the bytes actually read, not with the claimed length.
std::string_view ProtoFields::bytes() {
  const int length = take_length();
  const void* data = nullptr;
  int size = 0;
  in_.GetDirectBufferPointerInline(&data, &size);
  if (size >= length) {
    in_.Skip(length);
    return {static_cast<const char*>(data), static_cast<std::size_t>(length)};
  }
  buffer_.clear();
  for (int left = length; left > 0; left -= size) {
    if (!in_.GetDirectBufferPointer(&data, &size)) fail();
    size = std::min(size, left);
    buffer_.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    in_.Skip(size);
  }
  return buffer_;
}

void ProtoFields::parse(google::protobuf::MessageLite& message) {
  const std::string_view content = bytes();
  if (!message.ParseFromArray(content.data(), static_cast<int>(content.size()))) fail();
}

void ProtoFields::finish() {
  length_ = -1;
  if (!in_.Skip(in_.BytesUntilLimit())) fail();
}

void ProtoStream::for_each(const std::function<void(ProtoFields&)>& visit) {
  ChunkStream chunks(source_);
  for (bool more = true; more;) {
    // A new stream per field, because it counts bytes in an int.
    const std::int64_t start = chunks.ByteCount();
    CodedInputStream in(&chunks);
    ProtoFields top(in, source_.path(), start);
    more = top.next();
    if (!more) break;
    visit(top);
    if (top.length_ >= 0 && !in.Skip(top.take_length())) top.fail();
  }
}

}  // namespace tilecast::measured
