#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "search/tuner.h"

namespace tilecast::search {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::quiet_NaN();

void add_parameters(TuneSpace& space, std::span<const analytical::KernelQuery> queries) {
  space.columns = queries.front().parameters.size();
  for (const analytical::KernelQuery& query : queries) {
    if (query.parameters.size() != space.columns) {
      throw Error(fmt::format("tune: got a candidate of {} parameters, expected {} as the first",
                              query.parameters.size(), space.columns));
    }
    space.features.insert(space.features.end(), query.parameters.begin(), query.parameters.end());
  }
}

using List = ir::Dims analytical::TileConfig::*;
constexpr List kLists[] = {&analytical::TileConfig::output, &analytical::TileConfig::kernel,
                           &analytical::TileConfig::input};

std::size_t width_of(std::span<const analytical::KernelQuery> queries, List list) {
  std::size_t width = 0;
  for (const analytical::KernelQuery& query : queries) {
    if (query.tile != nullptr) width = std::max(width, (query.tile->*list).size());
  }
  return width;
}

// Bounds that a tile does not have are missing: nothing is cut.
void add_tiles(TuneSpace& space, std::span<const analytical::KernelQuery> queries) {
  for (const List list : kLists) space.columns += width_of(queries, list);
  space.features.assign(queries.size() * space.columns, kNoBound);
  std::size_t first = 0;
  for (const List list : kLists) {
    for (std::size_t row = 0; row < queries.size(); ++row) {
      if (queries[row].tile == nullptr) continue;
      std::size_t at = row * space.columns + first;
      for (const std::int64_t bound : queries[row].tile->*list) {
        space.features[at++] = static_cast<float>(bound);
      }
    }
    first += width_of(queries, list);
  }
}

}  // namespace

TuneSpace make_space(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
                     const analytical::CostModel& model) {
  TuneSpace space;
  if (queries.empty()) return space;
  if (queries.front().parameters.empty()) {
    add_tiles(space, queries);
  } else {
    add_parameters(space, queries);
  }
  for (const auto& estimate : model.estimate(queries, device)) {
    space.analytical.push_back(estimate ? std::optional(estimate->time.value) : std::nullopt);
  }
  return space;
}

TuneSpace ordered_by(TuneSpace space, std::span<const std::optional<double>> scores) {
  TC_CHECK(scores.size() == space.size(), "a score or none for each candidate");
  std::vector<std::size_t> order;
  std::vector<double> times;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!space.analytical[i]) continue;
    order.push_back(i);
    times.push_back(*space.analytical[i]);
  }
  std::ranges::sort(times);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return scores[i].value_or(std::numeric_limits<double>::infinity());
  });
  for (std::size_t i = 0; i < order.size(); ++i) space.analytical[order[i]] = times[i];
  return space;
}

}  // namespace tilecast::search
