// Unmeasured tiles labelled by physics, to learn from before the few measured ones (ALCOP, MLSys
// 2023, section IV-C).
//
// Every kernel of the examples gives tiles that its device could run (analytical_model.h, tiles())
// and that no example has, in equal shares, chosen by `seed`; what one does not have, others give.
// A kernel that has no tiles, or is measured without one, gives itself. Labels are analytical
// times; weights are 1. A kernel that physics cannot answer gives none. Parameters of how a kernel
// was written are missing (NaN): physics knows none. Deterministic, whatever `jobs`.
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

  // By kernel, in the order of their numbers; with priors.
  [[nodiscard]] const Examples& examples() const { return examples_; }
  // The rows of `measured` (those it was made of, or more of their sets), then these.
  [[nodiscard]] Examples joined_to(const Examples& measured) const;

 private:
  std::deque<analytical::TileConfig> tiles_;
  std::vector<float> no_parameters_;  // as many NaN as the longest list of names
  Examples examples_;
};

}  // namespace tilecast::learned
