// Neighbours of a fusion configuration: what a step of a search changes. A part of
// search_fusions(). Immutable; thread-safe.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "search/fusion_cost.h"

namespace tilecast::search {

class FusionMoves {
 public:
  explicit FusionMoves(const ir::FusionSpace& space);

  // Changes one decision, or swaps the choices of two around one instruction, or gives all around
  // it one choice. At least one decision.
  void step(ir::FusionConfiguration& chosen, std::mt19937_64& random) const;
  // The choices that a decision could have besides the one it has.
  [[nodiscard]] std::vector<ir::FusionChoice> others(const ir::FusionConfiguration& chosen,
                                                     std::uint32_t decision) const;
  // All decisions, those about members of the longest kernels first, equals at random.
  [[nodiscard]] std::vector<std::uint32_t> by_time(std::span<const FusionCost::KernelTime> kernels,
                                                   std::mt19937_64& random) const;

 private:
  void flip(ir::FusionConfiguration& chosen, std::uint32_t decision, std::mt19937_64& random) const;
  [[nodiscard]] std::span<const std::uint32_t> around(std::uint32_t decision,
                                                      std::mt19937_64& random) const;

  const ir::FusionSpace& space_;
  // Decisions at each instruction, whether it is the array or the reader.
  std::map<std::pair<ir::ComputationId, ir::InstrId>, std::vector<std::uint32_t>> at_;
};

}  // namespace tilecast::search
