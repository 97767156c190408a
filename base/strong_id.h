// Integer ids that cannot be mixed up: `StrongId<struct OpTag>` is not a `StrongId<struct
// KernelTag>`. An id is an index into a vector owned by the object that issued it. The default is
// "no id".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>  // std::hash

namespace tilecast {

template <class Tag>
struct StrongId {
  std::uint32_t value = UINT32_MAX;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  [[nodiscard]] constexpr bool valid() const { return value != UINT32_MAX; }
  [[nodiscard]] constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

}  // namespace tilecast

template <class Tag>
struct std::hash<tilecast::StrongId<Tag>> {
  std::size_t operator()(tilecast::StrongId<Tag> id) const noexcept { return id.value; }
};
