// Reads a protobuf file (plain or gzip) of any size sequentially, field by field, in bounded
// memory.
//
//   ProtoStream stream("host.xplane.pb");
//   stream.for_each([&](ProtoFields& top) {        // called at each field of the outermost message
//     if (top.field() == 1) top.enter([&](ProtoFields& plane) {
//       while (plane.next()) { if (plane.field() == 2) name = plane.bytes(); }
//     });
//   });
//
// Only length-delimited fields (strings, bytes, messages) are visited; other fields, and those that
// the visitor does not read, are skipped. A field of the outermost message is at most 2 GiB; the
// file may have any size. Throws Error (naming file and byte) if it is damaged or ends too early.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include <functional>
#include <string>
#include <string_view>

#include "measured/importers/byte_source.h"

namespace tilecast::measured {

class ProtoFields {
 public:
  // `start`: the offset of `in` in the file.
  ProtoFields(google::protobuf::io::CodedInputStream& in, const std::string& path,
              std::int64_t start)
      : in_(in), path_(path), start_(start) {}

  // Moves to the next field of this message; false at its end.
  bool next();
  [[nodiscard]] int field() const { return field_; }
  // The field's contents, valid until anything more is read.
  [[nodiscard]] std::string_view bytes();
  // Parses the field as a message, reusing the memory of `message`.
  void parse(google::protobuf::MessageLite& message);
  // Reads the field as a message, field by field; fields that `visit` does not read are skipped.
  template <class Visit>
  void enter(Visit&& visit) {
    const auto limit = in_.PushLimit(take_length());
    ProtoFields inner(in_, path_, start_);
    visit(inner);
    inner.finish();
    in_.PopLimit(limit);
  }
  [[noreturn]] void fail() const;

 private:
  friend class ProtoStream;
  int take_length();
  void finish();  // skips to the end of this message

  google::protobuf::io::CodedInputStream& in_;
  const std::string& path_;
  std::int64_t start_;
  int field_ = 0, length_ = -1;  // length_ < 0: the field has been read
  std::string buffer_;
};

class ProtoStream {
 public:
  explicit ProtoStream(std::string path) : source_(std::move(path)) {}
  void for_each(const std::function<void(ProtoFields&)>& visit);
  // Fraction of the file that has been read, 0 to 1.
  [[nodiscard]] double progress() const { return source_.progress(); }

 private:
  ByteSource source_;
};

}  // namespace tilecast::measured
