// A fixed map from words to values, by hashing; built at compile time.
//
//   constexpr WordTable kColours(std::to_array<WordEntry<int>>({{"red", 1}, {"green", 2}}));
//   const int* found = kColours.find("red");     // nullptr if there is no such word
//
// For words that are looked up at every token of a text. Words are unique and not empty.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilecast::base {

template <class Value>
struct WordEntry {
  std::string_view word;
  Value value{};
};

template <class Value, std::size_t kWords>
class WordTable {
 public:
  constexpr explicit WordTable(const std::array<WordEntry<Value>, kWords>& entries) {
    for (const WordEntry<Value>& entry : entries) {
      std::size_t slot = slot_of(entry.word);
      while (!slots_[slot].word.empty()) slot = (slot + 1) % kSlots;
      slots_[slot] = entry;
      lengths_[first_of(entry.word)] |= length_bit(entry.word);
    }
  }
  [[nodiscard]] constexpr const Value* find(std::string_view word) const {
    if (word.empty() || (lengths_[first_of(word)] & length_bit(word)) == 0) return nullptr;
    for (std::size_t slot = slot_of(word);; slot = (slot + 1) % kSlots) {
      const WordEntry<Value>& entry = slots_[slot];
      if (entry.word.empty()) return nullptr;
      if (entry.word == word) return &entry.value;
    }
  }

 private:
  static constexpr std::size_t kSlots = std::bit_ceil(4 * kWords);

  static constexpr std::size_t first_of(std::string_view word) {
    return static_cast<unsigned char>(word[0]);
  }
  static constexpr std::uint32_t length_bit(std::string_view word) {
    return std::uint32_t{1} << (word.size() < 31 ? word.size() : 31);
  }

  // Hashes the length and four characters, in which words differ.
  static constexpr std::size_t slot_of(std::string_view word) {
    const auto character = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(word[i]));
    };
    const std::size_t size = word.size();
    const std::uint32_t mixed = character(0) | character(size / 2) << 8U |
                                character(size - 1) << 16U | character(size * 3 / 4) << 24U;
    return ((mixed ^ static_cast<std::uint32_t>(size) << 12U) * 0x9e3779b1U >> 16U) % kSlots;
  }

  std::array<WordEntry<Value>, kSlots> slots_{};
  std::array<std::uint32_t, 256> lengths_{};  // per first character: bit set of word lengths
};

}  // namespace tilecast::base
