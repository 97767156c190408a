// A 128-bit hash of text, numbers, shapes and attributes, used for kernel fingerprints and hashes.
// Stable across processes, machines and builds; not cryptographic.
//
//   Hash128 hash;
//   hash.add("dot");
//   add_shape(hash, shape);
//   hash.result()
//
// Two independent multiply-xorshift streams (the finaliser of MurmurHash3, Appleby 2011). Not
// thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "ir/op_attrs.h"

namespace tilecast::ir {

class Hash128 {
 public:
  void add(std::uint64_t value) {
    state_[0] = mix(state_[0] ^ value);
    state_[1] = mix(state_[1] + 0x9e3779b97f4a7c15ULL + std::rotl(value, 32));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text);
  void add(const Dims& dims) {
    add(std::uint64_t{dims.size()});
    for (const std::int64_t d : dims) add(static_cast<std::uint64_t>(d));
  }
  [[nodiscard]] std::array<std::uint64_t, 2> result() const { return state_; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
  }
  std::array<std::uint64_t, 2> state_ = {0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
};

// Adds the element type (by name), dimensions, layout and tuple elements.
void add_shape(Hash128& hash, const Shape& shape);

// Adds the attributes that can affect how long an op takes.
void add_cost_attributes(Hash128& hash, const OpAttrs& attrs);
// Adds the further attributes that affect what an op computes: constants, comparison directions ...
// Parameter numbers, channel ids and names are never added.
void add_value_attributes(Hash128& hash, const OpAttrs& attrs);

}  // namespace tilecast::ir
