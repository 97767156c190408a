#include "measured/importers/npz_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace tilecast::measured {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kArrayChunkBytes = 256 << 10;
constexpr std::int64_t kMaxMatrixElements = std::int64_t{1} << 25;  // 256 MiB of doubles

template <class T>
double convert(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

using Convert = double (*)(const char*);

Convert converter(const NpyHeader& header) {
  switch (header.kind) {
    case 'f':
      return header.bytes == 4 ? convert<float> : convert<double>;
    case 'i':
      return header.bytes == 1   ? convert<std::int8_t>
             : header.bytes == 2 ? convert<std::int16_t>
             : header.bytes == 4 ? convert<std::int32_t>
                                 : convert<std::int64_t>;
    default:
      return header.bytes == 1   ? convert<std::uint8_t>
             : header.bytes == 2 ? convert<std::uint16_t>
             : header.bytes == 4 ? convert<std::uint32_t>
                                 : convert<std::uint64_t>;
  }
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : path_(path) {
  try {
    archive_ = base::open_zip(path);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: cannot open it as .npz: {}", path, error.what()));
  }
}

bool NpzFile::has(const std::string& array) const {
  return archive_->has(array + ".npy");
}

NpyArray NpzFile::open(const std::string& array) const {
  NpyArray result;
  result.where_ = fmt::format("{}: array '{}'", path_, array);
  try {
    result.file_ = archive_->open(array + ".npy");
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", result.where_, error.what()));
  }
  if (!result.file_) throw Error(result.where_ + " is missing");
  unsigned char start[12] = {};
  result.read_bytes(reinterpret_cast<char*>(start), 8);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) {
    throw Error(result.where_ + ": not a .npy array of version 1 to 3");
  }
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  result.read_bytes(reinterpret_cast<char*>(start) + 8, length_bytes);
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | start[8 + i];
  if (length > kMaxHeaderBytes) throw Error(result.where_ + ": its header is above 64 KiB");
  std::string text(length, ' ');
  result.read_bytes(text.data(), length);
  result.header_ = parse_npy_header(text, result.where_);
  const std::uint64_t expected =
      8 + length_bytes + length +
      static_cast<std::uint64_t>(result.header_.elements()) * result.header_.bytes;
  if (result.file_->size() != expected) {
    throw Error(fmt::format("{}: holds {} bytes, expected {} for its shape", result.where_,
                            result.file_->size(), expected));
  }
  return result;
}

void NpyArray::read_bytes(char* to, std::size_t count) {
  try {
    while (count > 0) {
      const std::size_t got = file_->read(to, count);
      if (got == 0) throw Error("ends too early");
      to += got;
      count -= got;
    }
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", where_, error.what()));
  }
}

void NpyArray::read(std::span<double> values) {
  const Convert as_double = converter(header_);
  const std::size_t at_once = kArrayChunkBytes / header_.bytes;
  buffer_.resize(std::min(values.size(), at_once) * header_.bytes);
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), at_once);
    read_bytes(buffer_.data(), count * header_.bytes);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = as_double(buffer_.data() + i * header_.bytes);
    }
    values = values.subspan(count);
  }
}

std::vector<double> NpyArray::read_matrix() {
  const std::int64_t elements = header_.elements();
  if (header_.shape.empty() || header_.shape.size() > 2 || elements > kMaxMatrixElements) {
    throw Error(
        fmt::format("{}: rank {} with {} elements, expected a vector or a matrix of at most "
                    "{}",
                    where_, header_.shape.size(), elements, kMaxMatrixElements));
  }
  std::vector<double> values(static_cast<std::size_t>(elements));
  read(values);
  if (!header_.fortran_order || header_.shape.size() < 2) return values;
  const auto rows = static_cast<std::size_t>(header_.shape[0]);
  const auto columns = static_cast<std::size_t>(header_.shape[1]);
  std::vector<double> by_rows(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    by_rows[i % rows * columns + i / rows] = values[i];
  }
  return by_rows;
}

}  // namespace tilecast::measured
