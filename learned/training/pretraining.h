// Unmeasured tiles labelled by physics, to learn from before the few measured ones (ALCOP, MLSys
// 2023, section IV-C).
//
// Every kernel of the examples gives tiles that its device could run (analytical_model.h, tiles()),
// in equal shares, chosen by `seed`; of kernels without tiles themselves. Labels are analytical
// times; weights are 1. A kernel that physics cannot answer gives none. Deterministic.
#pragma once

#include <deque>

#include "learned/training/examples.h"

namespace tilecast::learned {

// Owns the tiles that its examples point to.
class Unmeasured {
 public:
  Unmeasured(const Examples& measured, std::size_t rows, std::uint64_t seed, int jobs);
  Unmeasured(const Unmeasured&) = delete;
  Unmeasured& operator=(const Unmeasured&) = delete;

  [[nodiscard]] const Examples& examples() const { return examples_; }

 private:
  std::deque<analytical::TileConfig> tiles_;
  Examples examples_;
};

}  // namespace tilecast::learned
