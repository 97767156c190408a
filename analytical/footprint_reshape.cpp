// Reshapes and bitcasts: which dimensions split, merge or stay.
#include <algorithm>

#include "analytical/footprint_steps.h"

namespace tilecast::analytical {
namespace {

using ir::Dims;
using ir::Shape;

// Dimensions larger than 1, most major first, in memory order or by number.
Dims real_dims(const Shape& shape, bool in_memory) {
  Dims order = physical_order(shape);
  if (!in_memory) std::sort(order.begin(), order.end());
  const auto single = [&](std::int64_t d) { return shape.dims[d] == 1; };
  order.erase(std::remove_if(order.begin(), order.end(), single), order.end());
  return order;
}

// Maps two runs of dimensions with the same number of elements: a split of one dimension into any
// number, or a merge of two into one. False for other runs.
bool map_run(const Dims& from, const Dims& to, const Shape& shape, const Shape& source,
             Step& step) {
  if (from.size() == 2 && to.size() == 1) {  // spans whole rows of the minor dimension
    DimMap& map = step.dims[to[0]];
    map.source = static_cast<int>(from[0]);
    map.scale = source.dims[from[1]];
    map.second_source = static_cast<int>(from[1]);
    map.second_scale = 1;
    map.offset = -source.dims[from[1]];
    return true;
  }
  if (from.size() != 1) return false;
  std::int64_t inside = 1;
  for (std::size_t k = to.size(); k-- > 0;) {
    step.dims[to[k]].source = static_cast<int>(from[0]);
    step.dims[to[k]].divisor = inside;
    inside *= shape.dims[to[k]];
  }
  return true;
}

}  // namespace

Step reshape_step(const ir::Op& op, const Shape& source, const Shape& shape) {
  const bool in_memory = op.opcode == ir::Opcode::kBitcast && source.layout && shape.layout;
  const Dims from = real_dims(source, in_memory);
  const Dims to = real_dims(shape, in_memory);
  Step step = whole_step(shape);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() && j < to.size()) {
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    std::int64_t elements = source.dims[from[i++]];
    std::int64_t others = shape.dims[to[j++]];
    while (elements != others) {
      if (elements < others ? i == from.size() : j == to.size()) break;
      (elements < others ? elements : others) *=
          elements < others ? source.dims[from[i++]] : shape.dims[to[j++]];
    }
    const bool mapped =
        elements == others && map_run({from.begin() + first_i, from.begin() + i},
                                      {to.begin() + first_j, to.begin() + j}, shape, source, step);
    if (!mapped) return volume_step(source.rank(), shape);
  }
  return i == from.size() && j == to.size() ? step : volume_step(source.rank(), shape);
}

}  // namespace tilecast::analytical
