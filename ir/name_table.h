// A flat hash table from names to ids, which count up in the order of insertion; for example, the
// instruction names of the computation being parsed. The names must outlive the table. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text_hash.h"

namespace tilecast::ir {

template <class Id>
class NameTable {
 public:
  void reserve(std::size_t count) {
    names_.reserve(count);
    if (slots_.size() < 2 * count) resize(std::bit_ceil(2 * count));
  }

  // The id of `name`; an invalid id if not found.
  [[nodiscard]] Id find(std::string_view name) const {
    if (slots_.empty()) return {};
    const Slot& slot = slots_[locate(name, hash(name))];
    return slot.index == kFree ? Id() : Id(slot.index);
  }

  // Gives `name` the next id; false if it is already present.
  bool add(std::string_view name) {
    if (slots_.size() < 2 * (names_.size() + 1)) {
      resize(std::max(2 * slots_.size(), std::size_t{16}));
    }
    const std::uint32_t bits = hash(name);
    Slot& slot = slots_[locate(name, bits)];
    if (slot.index != kFree) return false;
    slot = {bits, static_cast<std::uint32_t>(names_.size())};
    names_.push_back(name);
    return true;
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = kFree;
  };

  static std::uint32_t hash(std::string_view name) {
    return static_cast<std::uint32_t>(base::hash_text(name));
  }

  // The slot that holds `name`, or the free slot in which to insert it.
  [[nodiscard]] std::size_t locate(std::string_view name, std::uint32_t bits) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = bits & mask;
    while (slots_[at].index != kFree &&
           (slots_[at].hash != bits || names_[slots_[at].index] != name)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void resize(std::size_t count) {
    slots_.assign(count, Slot());
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::uint32_t bits = hash(names_[i]);
      std::size_t at = bits & mask;
      while (slots_[at].index != kFree) at = (at + 1) & mask;
      slots_[at] = {bits, static_cast<std::uint32_t>(i)};
    }
  }

  std::vector<std::string_view> names_;  // by id
  std::vector<Slot> slots_;              // size is a power of two; at most half full
};

}  // namespace tilecast::ir
