// Splits a kernel that does several independent things into its loop nests.
//
// Outputs share a nest if they share a computation or an array that both read whole, or if they
// have the same dimensions (a compiler writes one loop over those). Other parts of a fusion
// (updates of several caches, slices of several arrays, a copy into another layout) are nests of
// their own, which run one after the other in one launch.
#pragma once

#include <memory>
#include <vector>

#include "analytical/best_tile.h"

namespace tilecast::analytical {

// The nests as kernels, in the order of their first outputs; empty if there is only one.
// Thread-safe.
[[nodiscard]] std::vector<ir::Kernel> loop_nests(const ir::Kernel& kernel);

// Nests at their best tiles, one after the other in one launch.
class NestSequence {
 public:
  NestSequence(const std::vector<ir::Kernel>& nests, const hwdesc::Device& device);
  [[nodiscard]] Accounting account(BoundMask removed) const;

 private:
  std::unique_ptr<const hwdesc::Device> launched_, further_;  // with and without launch cost
  struct Nest {
    std::unique_ptr<const TileModel> model;
    TileConfig tile;
  };
  std::vector<Nest> nests_;
};

}  // namespace tilecast::analytical
