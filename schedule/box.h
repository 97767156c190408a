// The part of a buffer that some statements touch, as a box that moves with the loops around them.
// Used by the steps of a Schedule (primitives.h). Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/walk.h"

namespace tilecast::schedule {

struct Box {
  std::vector<Index> start;  // in variables of the loops around
  ir::Dims extents;          // elements
  bool writes = false;       // the statements write the buffer
  bool combines = false;     // by combining with what is there
  bool partial = false;      // some elements that exist may be left as they were
};

// Of every access of that use. Throws Error where nothing touches the buffer so, where an index is
// no sum of inner variables, or where accesses lie a varying distance apart.
[[nodiscard]] Box box_of(const LoopProgram& program, const Body& body, const std::string& buffer,
                         Use use);
// Is the box inside the buffer in every iteration of the loops around?
[[nodiscard]] bool inside(const Box& box, const Buffer& buffer, const Extents& around);
// Do two iterations of the loops around hold the same element of a dimension in which they differ?
[[nodiscard]] bool overlaps_itself(const Box& box, const Extents& around);
// Accesses to `buffer` go to the same elements of `cache`, which holds the box.
void redirect(Body& body, std::string_view buffer, const std::string& cache, const Box& box);

// Removes the nest at the top of the program that sets every element of `buffer` to one number or
// scalar, and gives what it sets; nothing where there is none.
[[nodiscard]] std::optional<Value> take_clearing_nest(LoopProgram& program,
                                                      const std::string& buffer);
[[nodiscard]] Statement clearing_nest(const Buffer& buffer, const Value& value);
// The one assignment inside loops that hold nothing else, and those loops; null for other bodies.
struct SingleNest {
  std::vector<const Loop*> loops;
  const Assign* assign = nullptr;
};
[[nodiscard]] SingleNest single_nest(const Statement& statement);

}  // namespace tilecast::schedule
