// Evenly spread points in the unit cube [0, 1)^d, for parameter studies. Identical on every
// machine. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilecast::search {

using Points = std::vector<std::vector<double>>;  // count x dimensions

// A Latin hypercube: every dimension has one point in each of `count` equal strata; strata are
// paired at random and points are random within them (McKay, Beckman, Conover, Technometrics 1979).
[[nodiscard]] Points latin_hypercube(std::size_t count, std::size_t dimensions, std::uint64_t seed);
// Sobol's sequence without its first point (the origin), with the direction numbers of Joe and Kuo
// (SIAM J. Sci. Comput. 2008). At most 1000 dimensions.
[[nodiscard]] Points sobol(std::size_t count, std::size_t dimensions);

}  // namespace tilecast::search
