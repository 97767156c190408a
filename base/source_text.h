// A text with positions: turns an offset into `file:line:col: message`, the source line and a
// caret.
//
//   model.hlo:8:39: error: instruction does not exist: aparam
//     ROOT gte0 = s32[] get-tuple-element(aparam), index=0
//                                         ^
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::base {

struct Position {
  int line = 1;    // 1-based
  int column = 1;  // 1-based, in bytes
};

class SourceText {
 public:
  SourceText(std::string file, std::string text);

  // Reads a whole file, on disk or in an archive, of at most `max_bytes`; throws Error.
  static SourceText read_file(const std::string& path, std::size_t max_bytes = kMaxBytes);
  static std::string read_bytes(const std::string& path, std::size_t max_bytes = kMaxBytes);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string_view text() const { return text_; }  // followed by a NUL
  [[nodiscard]] Position position(std::size_t offset) const;
  // The line that holds `offset`, without its end-of-line characters.
  [[nodiscard]] std::string_view line_at(std::size_t offset) const;
  // `file:line:col: error: message`, the line (cut to a window of 160 bytes) and the caret;
  // unprintable bytes as `\xNN` (base/text.h).
  [[nodiscard]] std::string describe(std::size_t offset, std::string_view message,
                                     std::string_view severity = "error") const;

  static constexpr std::size_t kMaxBytes = std::size_t{2} << 30;
  // Limit for sources of unknown size: pipes, devices, compressed text.
  static constexpr std::size_t kMaxUnsizedBytes = std::size_t{512} << 20;

 private:
  std::string file_;
  std::string text_;
};

// The entry of `known` nearest to `word` by edit distance, or "" if none is close enough (for "did
// you mean ...?" hints).
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string_view>& known);

}  // namespace tilecast::base
