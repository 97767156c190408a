// A kernel that does several things side by side: its loop nests.
//
// Outputs belong to one nest where they share what is computed or an array that both read whole,
// and where they have the same dimensions (a compiler writes one loop over those). What else a
// fusion puts together (updates of several caches, slices of several arrays, a copy into another
// layout) are nests of their own that run one after the other in one launch.
#pragma once

#include <memory>
#include <vector>

#include "analytical/best_tile.h"

namespace tilecast::analytical {

// The nests as kernels, in the order of their first outputs; empty where there is one. Thread-safe.
[[nodiscard]] std::vector<ir::Kernel> loop_nests(const ir::Kernel& kernel);

// Nests at their best tiles, one after the other in one launch.
class NestSequence {
 public:
  NestSequence(const std::vector<ir::Kernel>& nests, const hwdesc::Device& device);
  [[nodiscard]] Accounting account(BoundMask removed) const;

 private:
  std::unique_ptr<const hwdesc::Device> launched_, further_;  // of the first nest, and the others
  struct Nest {
    std::unique_ptr<const TileModel> model;
    TileConfig tile;
  };
  std::vector<Nest> nests_;
};

}  // namespace tilecast::analytical
