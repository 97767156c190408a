// 128 bits that tell texts, numbers, shapes and attributes apart: what fingerprints and hashes of
// kernels are made of. Stable across processes, machines and builds; no protection against forgery.
//
//   Hash128 hash;
//   hash.add("dot");
//   add_shape(hash, shape);
//   hash.result()
//
// Two independent multiply-xorshift streams (the finaliser of MurmurHash3, Appleby 2011).
// A Hash128 is used by one thread.
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

// Element type by its name, dimensions, layout, elements of a tuple.
void add_shape(Hash128& hash, const Shape& shape);

// What of an op's attributes can matter to how long it takes.
void add_cost_attributes(Hash128& hash, const OpAttrs& attrs);
// What besides can matter to what it computes: values of constants, directions of comparisons ...
// Never numbers of parameters, channels or names.
void add_value_attributes(Hash128& hash, const OpAttrs& attrs);

}  // namespace tilecast::ir
