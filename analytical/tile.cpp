#include "analytical/tile.h"

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

std::string mismatch(std::string_view what, const ir::Dims& tile, const ir::Dims& full) {
  if (tile.empty() || tile.size() == full.size()) return {};
  return fmt::format("{} tile has {} dimensions, this kernel has {}", what, tile.size(),
                     full.size());
}

}  // namespace

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

std::string tile_mismatch(const TileConfig& tile, const TileConfig& full) {
  std::string output = mismatch("output", tile.output, full.output);
  return output.empty() ? mismatch("kernel", tile.kernel, full.kernel) : output;
}

}  // namespace tilecast::analytical
