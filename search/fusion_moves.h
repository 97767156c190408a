// Neighbours of a fusion configuration: the changes that one search step can make. Used by
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

  // Changes one decision, or swaps the choices of two decisions at one instruction, or sets all
  // decisions at it to one choice. Requires at least one decision.
  void step(ir::FusionConfiguration& chosen, std::mt19937_64& random) const;
  // The choices available to a decision, other than its current one.
  [[nodiscard]] std::vector<ir::FusionChoice> others(const ir::FusionConfiguration& chosen,
                                                     std::uint32_t decision) const;
  // All decisions, ordered by the time of the kernels they concern, longest first; ties at random.
  [[nodiscard]] std::vector<std::uint32_t> by_time(std::span<const FusionCost::KernelTime> kernels,
                                                   std::mt19937_64& random) const;

 private:
  void flip(ir::FusionConfiguration& chosen, std::uint32_t decision, std::mt19937_64& random) const;
  [[nodiscard]] std::span<const std::uint32_t> around(std::uint32_t decision,
                                                      std::mt19937_64& random) const;

  const ir::FusionSpace& space_;
  // Decisions at each instruction, both as the array and as the reader.
  std::map<std::pair<ir::ComputationId, ir::InstrId>, std::vector<std::uint32_t>> at_;
};

}  // namespace tilecast::search
