#include "base/source_text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/archive.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"

namespace tilecast::base {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Size of a regular file in bytes; 0: unknown.
std::size_t size_of(std::FILE* file) {
  struct stat status {};
  const bool known = ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  return known ? static_cast<std::size_t>(status.st_size) : 0;
}

std::size_t line_start(std::string_view text, std::size_t offset) {
  const std::size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

// Whether the byte continues a UTF-8 character.
bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

SourceText::SourceText(std::string file, std::string text)
    : file_(std::move(file)), text_(std::move(text)) {}

SourceText SourceText::read_file(const std::string& path, std::size_t max_bytes) {
  return {path, read_bytes(path, max_bytes)};
}

std::string SourceText::read_bytes(const std::string& path, std::size_t max_bytes) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    const int failure = errno;
    if (std::optional<std::string> entry = read_archived(path, max_bytes)) {
      return std::move(*entry);
    }
    throw Error(fmt::format("{}: cannot open: {}", path, std::strerror(failure)));
  }
  refuse_claimed(path);
  const std::size_t size = size_of(file.get());
  const std::size_t most = size > 0 ? max_bytes : std::min(max_bytes, kMaxUnsizedBytes);
  const auto require_at_most = [&](std::size_t bytes) {
    if (bytes > most) {
      throw Error(fmt::format("{}: larger than the limit of {} bytes", path, most));
    }
  };
  require_at_most(size);
  std::string text;
  text.reserve(size);
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) {
    require_at_most(text.size() + got);
    text.append(block, got);
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  }
  return text;
}

Position SourceText::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto lines =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  return {static_cast<int>(lines) + 1, static_cast<int>(offset - line_start(text_, offset)) + 1};
}

std::string_view SourceText::line_at(std::size_t offset) const {
  const std::string_view all = text_;
  const std::size_t begin = line_start(all, std::min(offset, all.size()));
  std::string_view line = all.substr(begin, all.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string SourceText::describe(std::size_t offset, std::string_view message,
                                 std::string_view severity) const {
  constexpr std::size_t kWindow = 160;
  constexpr std::size_t kBefore = 100;
  const Position at = position(offset);
  const std::string_view line = line_at(offset);
  // Moves an offset in the line to the start of a character.
  const auto character = [&line](std::size_t at_byte) {
    at_byte = std::min(at_byte, line.size());
    for (int i = 0; i < 3 && at_byte > 0 && at_byte < line.size(); ++i) {
      if (is_continuation(line[at_byte])) --at_byte;
    }
    return at_byte;
  };
  const auto byte = static_cast<std::size_t>(at.column) - 1;
  const std::size_t begin = byte > kBefore ? character(byte - kBefore) : 0;
  const std::size_t end = character(begin + kWindow);
  const std::size_t caret = std::clamp(character(byte), begin, end);
  const std::string before = printable(line.substr(begin, caret - begin));
  const auto columns =
      std::count_if(before.begin(), before.end(), [](char c) { return !is_continuation(c); });
  return printable(fmt::format("{}:{}:{}: {}: {}\n{}{}\n{:>{}}", file_, at.line, at.column,
                               severity, message, before, line.substr(caret, end - caret), '^',
                               columns + 1));
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 2;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return std::string(best);
}

}  // namespace tilecast::base
