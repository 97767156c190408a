#include "search/sampling.h"

#include <boost/random/sobol.hpp>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace tilecast::search {
namespace {

// A double in [0, 1) from 53 bits.
double unit(std::uint64_t bits) {
  constexpr int kDropped = 11;
  return static_cast<double>(bits >> kDropped) * 0x1p-53;
}

}  // namespace

Points latin_hypercube(std::size_t count, std::size_t dimensions, std::uint64_t seed) {
  Points points(count, std::vector<double>(dimensions));
  std::mt19937_64 random(seed);
  std::vector<std::size_t> strata(count);
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::iota(strata.begin(), strata.end(), 0);
    base::shuffle(strata, random);
    for (std::size_t i = 0; i < count; ++i) {
      points[i][d] = (static_cast<double>(strata[i]) + unit(random())) / static_cast<double>(count);
      if (points[i][d] >= 1) points[i][d] = 1 - 0x1p-53;  // was rounded up to 1
    }
  }
  return points;
}

Points sobol(std::size_t count, std::size_t dimensions) {
  constexpr std::size_t kMostDimensions = 1000;
  TC_CHECK(dimensions <= kMostDimensions, "callers limit the dimensions");
  Points points(count, std::vector<double>(dimensions));
  if (dimensions == 0) return points;
  boost::random::sobol engine(dimensions);
  for (std::vector<double>& point : points) {
    for (double& value : point) value = unit(engine());
  }
  return points;
}

}  // namespace tilecast::search
