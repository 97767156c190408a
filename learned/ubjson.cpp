#include "learned/ubjson.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace tilecast::learned {
namespace {

constexpr int kDeepest = 32;

// Bytes of a number after its marker; 0 for other markers.
std::size_t width_of(char marker) {
  switch (marker) {
    case 'i':
    case 'U':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

template <std::size_t width>
std::uint64_t big_endian(const char* bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < width; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  return bits;
}

// Calls use(a function from a number's bytes to the number) for a marker with a width.
template <class Use>
auto with_decoder(char marker, const Use& use) {
  switch (marker) {
    case 'i':
      return use([](const char* at) { return static_cast<std::int8_t>(*at); });
    case 'U':
      return use([](const char* at) { return static_cast<std::uint8_t>(*at); });
    case 'I':
      return use([](const char* at) { return static_cast<std::int16_t>(big_endian<2>(at)); });
    case 'l':
      return use([](const char* at) { return static_cast<std::int32_t>(big_endian<4>(at)); });
    case 'L':
      return use([](const char* at) { return static_cast<std::int64_t>(big_endian<8>(at)); });
    case 'd':
      return use([](const char* at) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(big_endian<4>(at)));
      });
    default:
      return use([](const char* at) { return std::bit_cast<double>(big_endian<8>(at)); });
  }
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  UbjValue document() {
    UbjValue value = value_of(next_marker());
    if (at_ != bytes_.size()) fail("expected end of input");
    return value;
  }

 private:
  // Header of a container; without a count it ends with a closing bracket.
  struct Head {
    std::optional<char> type = {};  // type of every element
    std::optional<std::size_t> count = {};
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("parse error at byte {}: {}", at_, what));
  }

  std::string_view take(std::size_t size) {
    if (size > bytes_.size() - at_) {
      fail(fmt::format("got {} bytes, expected {}", bytes_.size() - at_, size));
    }
    return bytes_.substr(std::exchange(at_, at_ + size), size);
  }

  char next_marker() {
    char marker = 'N';  // no-op marker
    while (marker == 'N') marker = take(1).front();
    return marker;
  }

  bool at_end(char end) {
    while (next_is('N')) {
    }
    return next_is(end);
  }

  bool next_is(char marker) {
    const bool found = at_ < bytes_.size() && bytes_[at_] == marker;
    if (found) ++at_;
    return found;
  }

  // A count of bytes or elements; each takes at least one byte.
  std::size_t size() {
    const char marker = next_marker();
    const std::size_t width = width_of(marker);
    if (width == 0 || marker == 'd' || marker == 'D') fail("expected a whole number for a size");
    const char* const at = take(width).data();
    const auto value = with_decoder(
        marker, [&](const auto& decode) { return static_cast<std::int64_t>(decode(at)); });
    const std::size_t left = bytes_.size() - at_;
    if (value < 0 || static_cast<std::uint64_t>(value) > left) {
      fail(fmt::format("got the size {}, expected at most the {} bytes left", value, left));
    }
    return static_cast<std::size_t>(value);
  }

  UbjValue value_of(char marker) {
    if (const std::size_t width = width_of(marker); width > 0) {
      return {.type = marker, .bytes = take(width)};
    }
    switch (marker) {
      case 'S':
        return {.type = marker, .bytes = take(size())};
      case '[':
        return array();
      case '{':
        return object();
      default:
        --at_;
        fail(fmt::format("got {:#04x}, expected a number, a text, an array or an object",
                         static_cast<unsigned char>(marker)));
    }
  }

  Head enter() {
    if (++depth_ > kDeepest) fail(fmt::format("nested deeper than {}", kDeepest));
    Head head;
    if (next_is('$')) {
      head.type = take(1).front();
      if (*head.type == 'N') fail("expected elements that take bytes");
    }
    if (next_is('#')) {
      head.count = size();
    } else if (head.type) {
      fail("expected a count behind a type");
    }
    return head;
  }

  // Calls element() for each.
  template <class Element>
  void elements(const Head& head, char end, const Element& element) {
    if (head.count) {
      for (std::size_t i = 0; i < *head.count; ++i) element();
    } else {
      while (!at_end(end)) element();
    }
    --depth_;
  }

  UbjValue element_of(const Head& head) { return value_of(head.type ? *head.type : next_marker()); }

  UbjValue array() {
    const Head head = enter();
    UbjValue values{.type = '['};
    if (const std::size_t width = head.type ? width_of(*head.type) : 0; width > 0) {
      values.packed = *head.type;
      values.bytes = take(*head.count * width);
      --depth_;
      return values;
    }
    elements(head, ']', [&] { values.items.push_back(element_of(head)); });
    return values;
  }

  UbjValue object() {
    const Head head = enter();
    UbjValue members{.type = '{'};
    elements(head, '}', [&] {
      members.keys.push_back(take(size()));
      members.items.push_back(element_of(head));
    });
    return members;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

UbjValue parse_ubjson(std::string_view bytes) {
  return Reader(bytes).document();
}

const UbjValue& UbjValue::at(std::string_view key) const {
  const auto found = std::ranges::find(keys.rbegin(), keys.rend(), key);
  if (found == keys.rend()) throw Error(fmt::format("key '{}' not found", key));
  return items[static_cast<std::size_t>(keys.rend() - found) - 1];
}

std::string_view UbjValue::text() const {
  if (type != 'S') throw Error(fmt::format("got type '{}', expected a text", type));
  return bytes;
}

const std::vector<UbjValue>& UbjValue::array() const {
  if (type != '[' || packed != 0) throw Error(fmt::format("got type '{}', expected a list", type));
  return items;
}

std::vector<double> UbjValue::numbers() const {
  std::vector<double> values;
  if (packed == 0) {
    for (const UbjValue& item : array()) values.push_back(item.number());
    return values;
  }
  const std::size_t width = width_of(packed);
  values.resize(bytes.size() / width);
  with_decoder(packed, [&](const auto& decode) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(decode(bytes.data() + i * width));
    }
  });
  return values;
}

double UbjValue::number() const {
  if (width_of(type) == 0) throw Error(fmt::format("got type '{}', expected a number", type));
  return with_decoder(
      type, [&](const auto& decode) { return static_cast<double>(decode(bytes.data())); });
}

}  // namespace tilecast::learned
