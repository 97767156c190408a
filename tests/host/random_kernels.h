// Random kernels, tiles and inputs for testing generated code.
//
//   RandomKernel made = random_kernel(seed);
//   TileConfig tile = random_tile(made.kernel, random);
//   std::vector<interpreter::Elements> inputs = random_inputs(made, random);
//
// Kernels are fusions of about 1 to 14 ops (more with a softmax or normalisation) over small odd
// sizes, so that tiles have ragged edges: elementwise chains, movement, reductions, products and
// convolutions with prologues and epilogues, gathers, windows, several outputs, all element types
// of a CPU, and parameters and results in any order of dimensions. All are verified HLO.
// Deterministic for a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analytical/tile.h"
#include "tests/host/random_graph.h"
#include "tests/interpreter/evaluate.h"

namespace tilecast::host {

struct RandomKernel {
  std::string text;  // the HLO module it was read from
  ir::Kernel kernel;
  std::vector<ParameterRange> ranges;
  bool specials = false;  // inputs may contain NaN, infinities and negative zeros
};

[[nodiscard]] RandomKernel random_kernel(std::uint64_t seed);
// One of the analytical model's candidates, or random cuts, or no cut.
[[nodiscard]] analytical::TileConfig random_tile(const ir::Kernel& kernel, std::mt19937_64& random);
// Random values of the parameters' types and ranges.
[[nodiscard]] std::vector<interpreter::Elements> random_inputs(const RandomKernel& made,
                                                               std::mt19937_64& random);

}  // namespace tilecast::host
