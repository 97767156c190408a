#include "analytical/reuse.h"

#include <boost/container/small_vector.hpp>

#include "analytical/simt_passes.h"

namespace tilecast::analytical {
namespace {

// `times` loads at `distance` bytes, spread over the levels that hold that much.
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

}  // namespace

void count_loads(std::span<const NestLoop> nest, std::span<const Operand> operands,
                 std::span<const double> capacities, double always_bytes,
                 std::span<LoadsFrom> loads) {
  boost::container::small_vector<double, 16> swept;  // bytes of each operand a sweep touches
  for (std::size_t i = 0; i < operands.size(); ++i) {
    loads[i] = {};
    loads[i][0] = 1;
    swept.push_back(operands[i].tile_bytes);
  }
  std::uint32_t inside = 0;  // loops seen so far
  for (const NestLoop& step : nest) {
    if (step.tiles <= 1) continue;
    double distance = always_bytes;
    for (const double bytes : swept) distance += bytes;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool moves = (operands[i].loops >> step.loop & 1U) != 0;
      if (moves) {
        for (double& count : loads[i]) count *= step.tiles;
        swept[i] *= step.tiles;
      } else if ((operands[i].loops & inside) != 0) {
        const double first = loads[i][0];
        for (std::size_t l = 1; l < capacities.size(); ++l) loads[i][l] *= step.tiles;
        add_repeats(first * (step.tiles - 1), distance, capacities, loads[i]);
      }
    }
    inside |= 1U << step.loop;
  }
}

}  // namespace tilecast::analytical
