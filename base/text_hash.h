// A hash of short texts for tables in memory, several times as fast as std::hash. It differs
// between processes under address-space randomisation, so that no input file can force collisions:
// do not save it or let its order show.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tilecast::base {

namespace text_hash {
inline const std::uint64_t kSeed = reinterpret_cast<std::uintptr_t>(&kSeed);

// The final shift brings high bits down for the next step.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t hash, std::uint64_t bits) {
  hash = (hash ^ bits) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 32U;
}
template <class Bits>
[[nodiscard]] std::uint64_t load(const char* at) {
  Bits bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}
}  // namespace text_hash

[[nodiscard]] inline std::uint64_t hash_text(std::string_view text) {
  using text_hash::load, text_hash::mix;
  const char* at = text.data();
  const std::size_t size = text.size();
  std::uint64_t hash = mix(text_hash::kSeed, size);
  if (size >= 8) {
    const char* const last = at + (size - 8);  // overlaps what is before it
    for (; at < last; at += 8) hash = mix(hash, load<std::uint64_t>(at));
    return mix(mix(hash, load<std::uint64_t>(last)), 0);
  }
  if (size >= 4) {
    const std::uint64_t ends =
        load<std::uint32_t>(at) << 32U | load<std::uint32_t>(at + (size - 4));
    return mix(mix(hash, ends), 0);
  }
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return mix(hash, 0);
}

// Hash functor of unordered containers with lookup by string_view.
struct TextHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const { return hash_text(text); }
};

}  // namespace tilecast::base
