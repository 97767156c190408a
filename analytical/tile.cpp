#include "analytical/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/error.h"

namespace tilecast::analytical {
namespace {

std::string joined(const ir::Dims& bounds) {
  std::string text;
  for (const std::int64_t bound : bounds) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : "x", bound);
  }
  return text;
}

ir::Dims parse_sizes(std::string_view text, std::string_view whole) {
  ir::Dims sizes;
  while (true) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || size < 1) {
      throw Error(fmt::format("tile '{}': got '{}', expected sizes such as 2x26x4x2", whole, text));
    }
    sizes.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return sizes;
    if (text.front() != 'x') {
      throw Error(fmt::format("tile '{}': got '{}', expected 'x' and a size", whole, text));
    }
    text.remove_prefix(1);
  }
}

// The value of stages, warps ...; 0 if not given.
int one_number(const ir::Dims& given, std::string_view what, std::string_view whole) {
  constexpr std::int64_t kMost = 1024;
  if (given.empty()) return 0;
  if (given.size() > 1 || given[0] > kMost) {
    throw Error(fmt::format("tile '{}': {}: got '{}', expected a number up to {}", whole, what,
                            joined(given), kMost));
  }
  return static_cast<int>(given[0]);
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
  if (tile.stages > 0) add("stages", {tile.stages});
  if (tile.warps > 0) add("warps", {tile.warps});
  add("threads", tile.threads);
  add("vector", tile.vector);
  if (tile.direct) add("direct", {1});
  add("order", tile.order);
  if (tile.unroll > 0) add("unroll", {tile.unroll});
  return text;
}

TileConfig parse_tile(std::string_view text) {
  TileConfig tile;
  ir::Dims stages, warps, direct, unroll;
  std::string_view rest = text;
  const auto word = [&rest](std::string_view separators) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,="), rest.size()));
    const std::string_view taken = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(taken.size());
    return taken;
  };
  for (std::string_view part = word(" ="); !part.empty(); part = word(" =")) {
    ir::Dims* sizes = part == "out" || part == "output" ? &tile.output
                      : part == "kernel"                ? &tile.kernel
                      : part == "in" || part == "input" ? &tile.input
                      : part == "stages"                ? &stages
                      : part == "warps"                 ? &warps
                      : part == "threads"               ? &tile.threads
                      : part == "vector"                ? &tile.vector
                      : part == "direct"                ? &direct
                      : part == "order"                 ? &tile.order
                      : part == "unroll"                ? &unroll
                                                        : nullptr;
    if (sizes == nullptr || !sizes->empty()) {
      throw Error(
          fmt::format("tile '{}': got '{}', expected out, kernel, in, stages, warps, threads, "
                      "vector, direct, order or unroll, each at most once; example: \"out=2x26x4x2 "
                      "kernel=3x3x24x1\"",
                      text, part));
    }
    *sizes = parse_sizes(word(" ,"), text);
  }
  tile.stages = one_number(stages, "stages", text);
  tile.warps = one_number(warps, "warps", text);
  tile.direct = one_number(direct, "direct", text) == 1;
  tile.unroll = one_number(unroll, "unroll", text);
  if (tile == TileConfig{}) throw Error("tile: got nothing, expected \"out=2x26x4x2\"");
  return tile;
}

std::string tile_mismatch(const TileConfig& tile, const TileConfig& full) {
  for (const auto& [what, given, whole] : {std::tuple{"output", &tile.output, &full.output},
                                           {"kernel", &tile.kernel, &full.kernel},
                                           {"threads", &tile.threads, &full.output},
                                           {"vector", &tile.vector, &full.output},
                                           {"order", &tile.order, &full.output}}) {
    if (given->empty() || given->size() == whole->size()) continue;
    return fmt::format("{} tile has {} dimensions, this kernel has {}", what, given->size(),
                       whole->size());
  }
  if (tile.order.empty()) return {};  // called for every ranked tile
  ir::Dims sorted = tile.order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i) + 1) {
      return fmt::format("order {} names no dimension {} of 1 to {}", joined(tile.order), i + 1,
                         sorted.size());
    }
  }
  return {};
}

}  // namespace tilecast::analytical
