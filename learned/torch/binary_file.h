// Plain binary files: a magic text, little-endian 64-bit numbers, arrays in their memory layout,
// and a checksum (FNV-1a, 64-bit: Fowler, Noll and Vo) of everything before it. Files contain only
// data, no executable content as a pickle does.
//
//   BinaryWriter to("tilecast.weights");  to.number(1);  to.text("name");
//   BinaryReader from("weights.bin", to.finish(), "tilecast.weights");  from.number();
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast::learned::torch_module {

static_assert(std::endian::native == std::endian::little, "numbers are written as they stand");

class BinaryWriter {
 public:
  explicit BinaryWriter(std::string_view magic) : bytes_(magic) {}

  void number(std::uint64_t value) { values(std::span<const std::uint64_t>(&value, 1)); }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  // Does not write the number of values.
  template <class T>
  void values(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  [[nodiscard]] std::string finish() &&;

 private:
  std::string bytes_;
};

// Every failure throws Error "WHERE: what" followed by `hint`.
class BinaryReader {
 public:
  // Checks magic and checksum. `bytes` must outlive this.
  BinaryReader(std::string where, std::string_view bytes, std::string_view magic,
               std::string hint = {});

  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    values(std::span(&value, 1));
    return value;
  }
  [[nodiscard]] double real() { return std::bit_cast<double>(number()); }
  [[nodiscard]] std::string_view text() { return take(number()); }
  template <class T>
  void values(std::span<T> to) {
    const std::string_view taken = take(to.size_bytes());
    if (!taken.empty()) std::memcpy(to.data(), taken.data(), taken.size());
  }
  // Checks the stored count against the remaining bytes.
  template <class T>
  [[nodiscard]] std::vector<T> vector() {
    const std::uint64_t count = number();
    if (count > rest_.size() / sizeof(T)) fail("truncated");
    std::vector<T> found(count);
    values(std::span<T>(found));
    return found;
  }
  void require_end() const;

 private:
  [[nodiscard]] std::string_view take(std::uint64_t size);

  std::string where_, hint_;
  std::string_view rest_;
};

}  // namespace tilecast::learned::torch_module
