#include "analytical/estimate.h"

#include <fmt/format.h>

namespace tilecast::analytical {
namespace {

std::string joined(const ir::Dims& bounds) {
  std::string text;
  for (const std::int64_t bound : bounds) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : "x", bound);
  }
  return text;
}

}  // namespace

std::string_view name(Bound bound) {
  static constexpr std::array<std::string_view, kBoundCount> kNames = {
      "hbm_read", "hbm_write", "matrix", "vector",  "transcendental", "cross_lane",
      "on_chip",  "network",   "issue",  "latency", "fill_drain",     "overhead"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::string to_string(const TileConfig& tile) {
  std::string text;
  const auto add = [&text](std::string_view what, const ir::Dims& bounds) {
    if (bounds.empty()) return;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", what, joined(bounds));
  };
  add("out", tile.output);
  add("kernel", tile.kernel);
  add("in", tile.input);
  return text;
}

}  // namespace tilecast::analytical
