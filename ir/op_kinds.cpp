#include "ir/op_kinds.h"

#include <array>

namespace tilecast::ir {

std::string_view name(OpClass work) {
  constexpr std::array<std::string_view, 17> kNames = {
      // in the order of the enumerators
      "free",           "elementwise", "transcendental", "matrix",     "reduction",
      "data-movement",  "indexed",     "sort",           "random",     "normalization",
      "linear-algebra", "fusion",      "collective",     "async-done", "control",
      "custom-call",    "host"};
  static_assert(kNames.size() == static_cast<std::size_t>(OpClass::kHost) + 1);
  return kNames[static_cast<std::size_t>(work)];
}

}  // namespace tilecast::ir
