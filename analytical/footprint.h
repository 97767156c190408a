// The region of every op that one tile needs: extents propagated through the kernel's graph.
//
// Ops whose extents are always equal form a group (an elementwise chain is one group). A group's
// extents follow from those of other groups by Steps: per dimension an affine map of up to two
// sources (windows: stride * output + dilation * kernel position), or "same number of elements"
// (reshape, gather). Groups are built once per kernel; evaluating them for a tile is a short loop.
// Rules per op: docs/model.md; XLA operation semantics for windows, pads, slices, gathers.
#pragma once

#include <span>
#include <vector>

#include "analytical/iteration_space.h"

namespace tilecast::analytical {

struct DimMap {
  int source = -1;  // dimension of the source extents; -1: the whole dimension
  std::int64_t scale = 1;
  int second_source = -1;
  std::int64_t second_scale = 0;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;  // the quotient is rounded up
  std::int64_t limit = 1;    // size of the dimension: extents never exceed it
  std::int64_t gap = 0;      // > 0: a piece this far from another, whose extent it adds to
  bool plain = false;        // just the source's extent, up to the limit
};

struct Step {
  int source_group = -1;     // -1: the loops themselves
  bool same_volume = false;  // same number of elements as the source, filled minor first
  int source_rank = 0;
  int rank = 0;
  std::array<DimMap, kMaxRank> dims;                // by dimension number of the group's ops
  std::array<std::int8_t, kMaxRank> minor_first{};  // for same_volume
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
