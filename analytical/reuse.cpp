#include "analytical/reuse.h"

#include <boost/container/small_vector.hpp>

#include "analytical/simt_passes.h"

namespace tilecast::analytical {
namespace {

// Adds `times` loads at reuse distance `distance` to the levels that hold them.
void add_repeats(double times, double distance, std::span<const double> capacities,
                 LoadsFrom& loads) {
  double missed = 1;
  for (std::size_t level = capacities.size(); level-- > 1;) {
    const double misses = std::min(missed, repeated_miss_share(capacities[level], distance));
    loads[level] += times * (missed - misses);
    missed = misses;
  }
  loads[0] += times * missed;
}

struct Reused {         // an operand, over the loops seen so far
  double distinct = 1;  // distinct tiles: each has one first load
  double swept = 0;     // its bytes that the loops touch
  double distance = 0;  // bytes between two uses of a tile, since a loop last moved it
  bool moved = false;   // by a loop
  bool moved_last = false;
};

}  // namespace

void count_loads(std::span<const NestLoop> nest, std::span<const Operand> operands,
                 std::span<const double> capacities, double always_bytes,
                 std::span<LoadsFrom> loads) {
  boost::container::small_vector<Reused, 16> reused(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    loads[i] = {};
    loads[i][0] = 1;
    reused[i].swept = operands[i].tile_bytes;
  }
  for (const NestLoop& step : nest) {
    if (step.tiles <= 1) continue;
    double distance = always_bytes;
    for (const Reused& operand : reused) distance += operand.swept;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Reused& operand = reused[i];
      const bool moves = (operands[i].loops >> step.loop & 1U) != 0;
      if (moves) {
        for (double& count : loads[i]) count *= step.tiles;
        operand.swept *= step.tiles;
        operand.distinct *= step.tiles;
        operand.moved = true;
      } else if (operand.moved) {
        if (operand.moved_last) operand.distance = distance;
        loads[i][0] -= operand.distinct;  // only repeated loads are scaled
        for (double& count : loads[i]) count *= step.tiles;
        loads[i][0] += operand.distinct;
        add_repeats(operand.distinct * (step.tiles - 1), operand.distance, capacities, loads[i]);
      }
      operand.moved_last = moves;
    }
  }
}

}  // namespace tilecast::analytical
