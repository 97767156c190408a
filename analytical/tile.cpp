#include "analytical/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

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

constexpr TilePart kParts[] = {
    {"output", "out", "output_bounds", "sizes of the output's pieces", &TileConfig::output},
    {"kernel", "kernel", "kernel_bounds", "sizes of the weights' pieces", &TileConfig::kernel},
    {"input", "in", "input_bounds", "sizes of the input's pieces", &TileConfig::input},
    {"stages", "stages", "stages", "buffers of each operand", &TileConfig::stages},
    {"warps", "warps", "warps", "warps of a block", &TileConfig::warps},
    {"threads", "threads", "threads", "threads of a block along the output", &TileConfig::threads},
    {"vector", "vector", "vector", "elements that a thread's load brings", &TileConfig::vector},
    {"direct", "direct", "direct", "operands are read through the cache", &TileConfig::direct},
    {"order", "order", "order", "loops over the output, outermost first", &TileConfig::order},
    {"unroll", "unroll", "unroll", "taps of a window that are written out", &TileConfig::unroll}};

void check_one_number(const TilePart& part, const ir::Dims& given, std::string_view whole) {
  if (part.is_list() || given.empty()) return;
  if (given.size() > 1 || given[0] > TilePart::kMost) {
    throw Error(fmt::format("tile '{}': {}: got '{}', expected a number up to {}", whole, part.word,
                            joined(given), TilePart::kMost));
  }
}

// "out, kernel, in ... or unroll"
std::string words() {
  std::string text(kParts[0].word);
  for (std::size_t i = 1; i < std::size(kParts); ++i) {
    text += fmt::format("{}{}", i + 1 < std::size(kParts) ? ", " : " or ", kParts[i].word);
  }
  return text;
}

}  // namespace

std::span<const TilePart> tile_parts() {
  return kParts;
}

ir::Dims TilePart::numbers(const TileConfig& tile) const {
  if (is_list()) return tile.*std::get<ir::Dims TileConfig::*>(of);
  const int number =
      is_flag() ? tile.*std::get<bool TileConfig::*>(of) : tile.*std::get<int TileConfig::*>(of);
  return number > 0 ? ir::Dims{number} : ir::Dims{};
}

void TilePart::set(TileConfig& tile, const ir::Dims& numbers) const {
  const int number = numbers.empty() ? 0 : static_cast<int>(numbers[0]);
  if (is_list()) {
    tile.*std::get<ir::Dims TileConfig::*>(of) = numbers;
  } else if (is_flag()) {
    tile.*std::get<bool TileConfig::*>(of) = number == 1;
  } else {
    tile.*std::get<int TileConfig::*>(of) = number;
  }
}

std::string to_string(const TileConfig& tile) {
  std::string text;
  for (const TilePart& part : kParts) {
    const ir::Dims numbers = part.numbers(tile);
    if (numbers.empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", part.word, joined(numbers));
  }
  return text;
}

TileConfig parse_tile(std::string_view text) {
  TileConfig tile;
  std::vector<ir::Dims> given(std::size(kParts));
  std::string_view rest = text;
  const auto word = [&rest](std::string_view separators) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,="), rest.size()));
    const std::string_view taken = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(taken.size());
    return taken;
  };
  for (std::string_view said = word(" ="); !said.empty(); said = word(" =")) {
    const auto* part = std::ranges::find_if(
        kParts, [&](const TilePart& one) { return said == one.word || said == one.name; });
    const auto at = static_cast<std::size_t>(part - kParts);
    if (part == std::end(kParts) || !given[at].empty()) {
      throw Error(fmt::format(
          "tile '{}': got '{}', expected {}, each at most once; example: \"out=2x26x4x2 "
          "kernel=3x3x24x1\"",
          text, said, words()));
    }
    given[at] = parse_sizes(word(" ,"), text);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    check_one_number(kParts[i], given[i], text);
    kParts[i].set(tile, given[i]);
  }
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
