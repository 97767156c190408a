#include "learned/torch/binary_file.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilecast::learned::torch_module {
namespace {

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

std::string BinaryWriter::finish() && {
  number(checksum(bytes_));
  return std::move(bytes_);
}

BinaryReader::BinaryReader(std::string where, std::string_view bytes, std::string_view magic,
                           std::string hint)
    : where_(std::move(where)), hint_(std::move(hint)), rest_(bytes) {
  if (!bytes.starts_with(magic)) {
    const std::string_view line = magic.substr(0, magic.find('\n'));
    fail(fmt::format("another kind of file; expected '{}' at its start", line));
  }
  if (bytes.size() < magic.size() + sizeof(std::uint64_t)) fail("truncated");
  rest_ = bytes.substr(bytes.size() - sizeof(std::uint64_t));
  const std::string_view body = bytes.substr(0, bytes.size() - rest_.size());
  const std::uint64_t got = number(), expected = checksum(body);
  if (got != expected) {
    fail(fmt::format("corrupted or truncated; got the checksum {:016x}, expected {:016x}", got,
                     expected));
  }
  rest_ = body.substr(magic.size());
}

void BinaryReader::fail(const std::string& what) const {
  throw Error(fmt::format("{}: {}{}", where_, what, hint_));
}

void BinaryReader::require_end() const {
  if (!rest_.empty()) fail(fmt::format("corrupted; got {} bytes after its end", rest_.size()));
}

std::string_view BinaryReader::take(std::uint64_t size) {
  if (size > rest_.size()) {
    fail(fmt::format("truncated; got {} bytes to its end, expected {}", rest_.size(), size));
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

}  // namespace tilecast::learned::torch_module
