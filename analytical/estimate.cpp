#include "analytical/estimate.h"

namespace tilecast::analytical {

std::string_view name(Bound bound) {
  static constexpr std::array<std::string_view, kBoundCount> kNames = {
      "hbm_read", "hbm_write", "matrix", "vector",  "transcendental", "cross_lane",
      "on_chip",  "network",   "issue",  "latency", "fill_drain",     "overhead"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::string_view name(Verdict verdict) {
  static constexpr std::array<std::string_view, 3> kNames = {"in", "edge", "out"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace tilecast::analytical
