#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "search/tuner.h"

namespace tilecast::search {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

// A feature table, filled column by column.
class Table {
 public:
  explicit Table(std::size_t rows) : rows_(rows) {}

  template <class ValueOf>
  void add(const ValueOf& value_of) {
    std::vector<float> column(rows_);
    for (std::size_t row = 0; row < rows_; ++row) column[row] = value_of(row);
    columns_.push_back(std::move(column));
  }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] std::vector<float> by_row() const {
    std::vector<float> values;
    for (std::size_t row = 0; row < rows_; ++row) {
      for (const std::vector<float>& column : columns_) values.push_back(column[row]);
    }
    return values;
  }

 private:
  std::size_t rows_;
  std::vector<std::vector<float>> columns_;
};

using Queries = std::span<const analytical::KernelQuery>;
using List = ir::Dims analytical::TileConfig::*;
constexpr List kLists[] = {&analytical::TileConfig::output, &analytical::TileConfig::kernel,
                           &analytical::TileConfig::input};

// Bounds that a tile does not have are missing values: the loop is not cut.
void add_tiles(Table& table, Queries queries) {
  for (const List list : kLists) {
    std::size_t width = 0;
    for (const analytical::KernelQuery& query : queries) {
      if (query.tile != nullptr) width = std::max(width, (query.tile->*list).size());
    }
    for (std::size_t i = 0; i < width; ++i) {
      table.add([&](std::size_t row) {
        const analytical::TileConfig* tile = queries[row].tile;
        const bool cut = tile != nullptr && i < (tile->*list).size();
        return cut ? static_cast<float>((tile->*list)[i]) : kNothing;
      });
    }
  }
  for (const auto member : {&analytical::TileConfig::stages, &analytical::TileConfig::warps}) {
    table.add([&](std::size_t row) {
      const analytical::TileConfig* tile = queries[row].tile;
      return tile == nullptr || tile->*member == 0 ? kNothing : static_cast<float>(tile->*member);
    });
  }
}

void add_parameters(Table& table, Queries queries) {
  const std::size_t width = queries.front().parameters.size();
  for (const analytical::KernelQuery& query : queries) {
    if (query.parameters.size() == width) continue;
    throw Error(fmt::format("tune: got a candidate of {} parameters, expected {} as the first",
                            query.parameters.size(), width));
  }
  for (std::size_t i = 0; i < width; ++i) {
    table.add([&](std::size_t row) { return queries[row].parameters[i]; });
  }
}

using Answers = std::span<const std::optional<analytical::Estimate>>;

// Analytical terms of a candidate, as logarithms: busy time of each resource, iterations, bytes.
void add_terms(Table& table, Answers answers) {
  const auto add = [&](const auto& value_of) {
    table.add([&](std::size_t row) {
      const double value = answers[row] ? value_of(*answers[row]) : 0;
      return value > 0 ? static_cast<float>(std::log(value)) : kNothing;
    });
  };
  for (std::size_t bound = 0; bound < analytical::kBoundCount; ++bound) {
    add([&](const analytical::Estimate& e) { return e.bounds[bound].value; });
  }
  add([](const analytical::Estimate& e) { return e.iterations; });
  add([](const analytical::Estimate& e) { return (e.hbm_read + e.hbm_write).value; });
  add([](const analytical::Estimate& e) { return e.scratchpad_used.value; });
}

}  // namespace

TuneSpace make_space(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
                     const analytical::CostModel& model) {
  TuneSpace space;
  if (queries.empty()) return space;
  Table written(queries.size()), terms(queries.size());
  add_tiles(written, queries);
  add_parameters(written, queries);
  const std::vector<std::optional<analytical::Estimate>> answers = model.estimate(queries, device);
  add_terms(terms, answers);
  space.columns = written.columns();
  space.features = written.by_row();
  space.term_columns = terms.columns();
  space.terms = terms.by_row();
  for (const auto& estimate : answers) {
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
