// Random kernels, tiles and inputs: what generated code is tried on.
//
//   RandomKernel made = random_kernel(seed);
//   TileConfig tile = random_tile(made.kernel, random);
//   std::vector<interpreter::Elements> inputs = random_inputs(made, random);
//
// Kernels are fusions of about 1 to 14 ops (more where softmax or a normalisation is one of them)
// over small odd sizes, so that tiles have ragged edges: elementwise chains, movement, reductions,
// products and convolutions with prologues and epilogues, gathers, windows, several outputs, all
// element types a CPU has, parameters and results in any order of dimensions. All are verified HLO.
// Same seed, same kernel.
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
  bool specials = false;  // inputs may hold NaN, infinities and negative zeros
};

[[nodiscard]] RandomKernel random_kernel(std::uint64_t seed);
// One of the analytical model's candidates, or cuts of any size, or no cut.
[[nodiscard]] analytical::TileConfig random_tile(const ir::Kernel& kernel, std::mt19937_64& random);
// Numbers of the parameters' types, in their ranges.
[[nodiscard]] std::vector<interpreter::Elements> random_inputs(const RandomKernel& made,
                                                               std::mt19937_64& random);

}  // namespace tilecast::host
