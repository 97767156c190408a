// The region of every op that one tile needs: extents propagated through the kernel's graph.
//
// Ops whose extents are always equal form a group (an elementwise chain is one group). A group's
// extents follow from those of other groups by the index maps of ops (ir/ops/index_map.h). Groups
// are built once per kernel; evaluating them for a tile is a short loop.
#pragma once

#include <span>
#include <vector>

#include "analytical/iteration_space.h"
#include "ir/ops/index_map.h"

namespace tilecast::analytical {

struct Step : ir::IndexMap {
  int source_group = -1;  // -1: the loops themselves
};

struct Group {
  std::vector<Step> steps;  // extents are the largest of all steps
  ir::OpId representative;
  std::uint32_t loops = 0;  // bit i: the extents depend on loop i's position or size
  bool plain = false;       // one step of plain and whole dimensions
};

class Footprints {
 public:
  Footprints(const ir::Kernel& kernel, const IterationSpace& space);

  [[nodiscard]] std::span<const Group> groups() const { return groups_; }
  [[nodiscard]] int group_of(ir::OpId op) const { return group_of_[op.index()]; }
  static constexpr std::uint32_t kEveryLoop = ~std::uint32_t{0};

  // Extents of every group for one tile; `out` has groups().size() entries. `changed`: one bit per
  // loop whose extent differs from the tile `out` was last filled for.
  void evaluate(const LoopSizes& tile, std::span<Extents> out,
                std::uint32_t changed = kEveryLoop) const;

 private:
  std::vector<Group> groups_;
  std::vector<int> group_of_;  // per op
};

// Whether a value that depends on `loops` changes when the loops `changed` do (one bit each);
// always true for kEveryLoop.
[[nodiscard]] inline bool depends(std::uint32_t loops, std::uint32_t changed) {
  return changed == Footprints::kEveryLoop || (loops & changed) != 0;
}

}  // namespace tilecast::analytical
