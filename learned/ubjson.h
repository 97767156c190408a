// A strict reader of the part of UBJSON (Draft 12, ubjson.org) that XGBoost writes.
//
//   const UbjsonValue model = read_ubjson(bytes);
//   model.at("learner").at("objective").at("name").text();
//
// Nothing in the bytes is believed: lengths are checked against what is left, nesting and the
// number of values are bounded, so that memory stays within a small multiple of the input. Throws
// Error with the offset. Values point into `bytes`, which must outlive them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tilecast::learned {

class UbjsonValue {
 public:
  enum class Kind { kInteger, kText, kArray, kObject, kIntegers, kReals };

  // Each throws Error when the value is of another kind; `at` when the key is absent.
  [[nodiscard]] const UbjsonValue& at(std::string_view key) const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] const std::vector<UbjsonValue>& array() const;  // of values of any kind
  // Arrays of numbers of one type: their size, and an element, index < size.
  [[nodiscard]] std::size_t count(Kind kind) const;
  [[nodiscard]] std::int64_t integer(std::size_t index) const;
  [[nodiscard]] float real(std::size_t index) const;

 private:
  friend class UbjsonReader;
  void require(Kind kind) const;

  Kind kind_ = Kind::kInteger;
  char type_ = 0;                        // marker of the elements of kIntegers, kReals
  std::size_t offset_ = 0;               // in the bytes
  std::string_view text_;                // kText; the elements of kIntegers, kReals
  std::vector<UbjsonValue> items_;       // kArray; values of kObject
  std::vector<std::string_view> names_;  // of kObject
};

[[nodiscard]] UbjsonValue read_ubjson(std::string_view bytes);

}  // namespace tilecast::learned
