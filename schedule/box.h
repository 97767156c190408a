// The part of a buffer that some statements access, as a box that moves with the surrounding loops.
// Used by the steps of a Schedule (primitives.h). Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/walk.h"

namespace tilecast::schedule {

struct Box {
  std::vector<Index> start;  // in variables of the surrounding loops
  ir::Dims extents;          // elements
  bool writes = false;       // the statements write the buffer
  bool combines = false;     // by combining with the old value
  bool partial = false;      // some elements may stay unwritten
};

// Box of all accesses with that use. Throws Error if there are none, if an index is not a sum of
// inner variables, or if the distance between accesses varies.
[[nodiscard]] Box box_of(const LoopProgram& program, const Body& body, const std::string& buffer,
                         Use use);
// Whether the box is inside the buffer in every iteration of the surrounding loops.
[[nodiscard]] bool inside(const Box& box, const Buffer& buffer, const Extents& around);
// Whether boxes of different iterations of the surrounding loops overlap, in some dimension in
// which they differ.
[[nodiscard]] bool overlaps_itself(const Box& box, const Extents& around);
// Redirects accesses of `buffer` to the same elements of `cache`, which holds the box.
void redirect(Body& body, std::string_view buffer, const std::string& cache, const Box& box);

// Removes the top-level nest that sets every element of `buffer` to one number or scalar, and
// returns that value; nullopt if there is no such nest.
[[nodiscard]] std::optional<Value> take_clearing_nest(LoopProgram& program,
                                                      const std::string& buffer);
[[nodiscard]] Statement clearing_nest(const Buffer& buffer, const Value& value);
// The only assignment inside loops that contain nothing else, and those loops; null for other
// bodies.
struct SingleNest {
  std::vector<const Loop*> loops;
  const Assign* assign = nullptr;
};
[[nodiscard]] SingleNest single_nest(const Statement& statement);

}  // namespace tilecast::schedule
