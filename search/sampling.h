// Points that fill the unit cube [0, 1)^d evenly, for studies over many numbers at once. The same
// on every machine. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilecast::search {

using Points = std::vector<std::vector<double>>;  // count x dimensions

// A Latin hypercube: in every dimension one point in each of `count` equal strata, the strata
// paired at random, points at random within (McKay, Beckman, Conover, Technometrics 1979).
[[nodiscard]] Points latin_hypercube(std::size_t count, std::size_t dimensions, std::uint64_t seed);
// Sobol's sequence without its first point, the origin, with the direction numbers of Joe and Kuo
// (SIAM J. Sci. Comput. 2008); dimensions up to 1000.
[[nodiscard]] Points sobol(std::size_t count, std::size_t dimensions);

}  // namespace tilecast::search
