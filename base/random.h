// Random numbers that are the same on every platform: the standard library's engines are, but its
// distributions and std::shuffle differ between implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tilecast::base {

// Uniform in [0, bound), bound >= 1.
[[nodiscard]] inline std::uint64_t draw(std::mt19937_64& random, std::uint64_t bound) {
  const std::uint64_t usable = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = random();
  while (value >= usable) value = random();
  return value % bound;
}

template <class T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[draw(random, i)]);
  }
}

}  // namespace tilecast::base
