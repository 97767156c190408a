#include "learned/ubjson.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/error.h"

namespace tilecast::learned {
namespace {

using Kind = UbjsonValue::Kind;

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxValues = 1'000'000;

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kInteger:
      return "a whole number";
    case Kind::kText:
      return "a text";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
    case Kind::kIntegers:
      return "an array of whole numbers";
    case Kind::kReals:
      return "an array of numbers";
  }
  TC_CHECK(false, "a kind of value without a name");
}

[[noreturn]] void fail(std::size_t offset, const std::string& what) {
  throw Error(fmt::format("UBJSON at byte {}: {}", offset, what));
}

// Bytes of a number by its marker; absent for anything else.
std::optional<std::size_t> width(char marker) {
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
      return 8;
    default:
      return std::nullopt;
  }
}

// Big-endian, as UBJSON has all numbers.
std::uint64_t unsigned_at(const char* bytes, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::int64_t integer_at(const char* bytes, char marker) {
  const std::uint64_t value = unsigned_at(bytes, *width(marker));
  switch (marker) {
    case 'i':
      return static_cast<std::int8_t>(value);
    case 'I':
      return static_cast<std::int16_t>(value);
    case 'l':
      return static_cast<std::int32_t>(value);
    default:
      return static_cast<std::int64_t>(value);
  }
}

}  // namespace

class UbjsonReader {
 public:
  explicit UbjsonReader(std::string_view bytes) : bytes_(bytes) {}

  UbjsonValue document() {
    UbjsonValue value = this->value(0);
    if (at_ != bytes_.size()) {
      fail(at_, fmt::format("got {} bytes more, expected the end", bytes_.size() - at_));
    }
    return value;
  }

 private:
  char marker() { return take(1)[0]; }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      fail(at_, fmt::format("got {} bytes, expected {}", bytes_.size() - at_, count));
    }
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  std::uint64_t length() {
    const std::size_t start = at_;
    const char type = marker();
    if (!width(type) || type == 'd') fail(start, "expected a length");
    const std::int64_t value = integer_at(take(*width(type)).data(), type);
    if (value < 0) fail(start, fmt::format("got a length of {}", value));
    return static_cast<std::uint64_t>(value);
  }

  UbjsonValue value(int depth) {
    if (depth > kMaxDepth) fail(at_, fmt::format("nested deeper than {}", kMaxDepth));
    if (++values_ > kMaxValues) fail(at_, fmt::format("more than {} values", kMaxValues));
    UbjsonValue value;
    value.offset_ = at_;
    const char type = marker();
    if (type == '{') {
      object(value, depth);
    } else if (type == '[') {
      array(value, depth);
    } else if (type == 'S') {
      value.kind_ = Kind::kText;
      value.text_ = take(length());
    } else if (width(type) && type != 'd') {
      take(*width(type));  // nothing that is read is a lone number
    } else {
      fail(value.offset_, fmt::format("got the marker 0x{:02x}, expected a value",
                                      static_cast<unsigned char>(type)));
    }
    return value;
  }

  void object(UbjsonValue& value, int depth) {
    value.kind_ = Kind::kObject;
    while (true) {
      if (at_ < bytes_.size() && bytes_[at_] == '}') break;
      const std::size_t start = at_;
      const std::string_view key = take(length());
      if (std::ranges::find(value.names_, key) != value.names_.end()) {
        fail(start, "got a key twice");
      }
      if (value.names_.size() == kMaxKeys) fail(start, fmt::format("more than {} keys", kMaxKeys));
      value.names_.push_back(key);
      value.items_.push_back(this->value(depth + 1));
    }
    take(1);
  }

  // XGBoost gives every array its length: "[#L <count> ..." or "[$<type>#L <count> ...".
  void array(UbjsonValue& value, int depth) {
    char type = 0;
    if (at_ < bytes_.size() && bytes_[at_] == '$') {
      take(1);
      type = marker();
      if (!width(type)) fail(at_ - 1, "expected the type of a number");
    }
    if (marker() != '#') fail(at_ - 1, "expected '#' and the length of an array");
    const std::uint64_t count = length();
    if (count > bytes_.size() - at_) {
      fail(at_, fmt::format("got an array of {} in {} bytes", count, bytes_.size() - at_));
    }
    if (type != 0) {
      value.kind_ = type == 'd' ? Kind::kReals : Kind::kIntegers;
      value.type_ = type;
      value.text_ = take(count * *width(type));  // no overflow: count is within the bytes
      return;
    }
    value.kind_ = Kind::kArray;
    for (std::uint64_t i = 0; i < count; ++i) value.items_.push_back(this->value(depth + 1));
  }

  static constexpr std::size_t kMaxKeys = 64;  // keys are compared with all before

  std::string_view bytes_;
  std::size_t at_ = 0, values_ = 0;
};

void UbjsonValue::require(Kind kind) const {
  if (kind_ == kind) return;
  fail(offset_, fmt::format("got {}, expected {}", name(kind_), name(kind)));
}

const UbjsonValue& UbjsonValue::at(std::string_view key) const {
  require(Kind::kObject);
  const auto found = std::ranges::find(names_, key);
  if (found == names_.end()) fail(offset_, fmt::format("no '{}'", key));
  return items_[static_cast<std::size_t>(found - names_.begin())];
}

std::string_view UbjsonValue::text() const {
  require(Kind::kText);
  return text_;
}

const std::vector<UbjsonValue>& UbjsonValue::array() const {
  require(Kind::kArray);
  return items_;
}

std::size_t UbjsonValue::count(Kind kind) const {
  require(kind);
  return text_.size() / *width(type_);
}

std::int64_t UbjsonValue::integer(std::size_t index) const {
  TC_CHECK(kind_ == Kind::kIntegers && index < count(kind_), "an element of an array");
  return integer_at(text_.data() + index * *width(type_), type_);
}

float UbjsonValue::real(std::size_t index) const {
  TC_CHECK(kind_ == Kind::kReals && index < count(kind_), "an element of an array");
  return std::bit_cast<float>(static_cast<std::uint32_t>(unsigned_at(text_.data() + index * 4, 4)));
}

UbjsonValue read_ubjson(std::string_view bytes) {
  return UbjsonReader(bytes).document();
}

}  // namespace tilecast::learned
