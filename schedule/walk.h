// Walks over loop programs, shared by all passes. Pure functions; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/loop_program.h"

namespace tilecast::schedule {

enum class Use : std::uint8_t { kRead, kWrite };  // Multiply reads and writes its c
// Visits every access of the statements, including those in loops and guards; a box by its first
// element.
void for_each_access(const Body& body, const std::function<void(const Access&, Use)>& visit);
void for_each_access(Body& body, const std::function<void(Access&, Use)>& visit);

// Visits every statement; those in loops and guards after the loop or guard itself.
void for_each_statement(const Body& body, const std::function<void(const Statement&)>& visit);

[[nodiscard]] bool touches(const Statement& statement, std::string_view buffer, Use use);
[[nodiscard]] bool mentions(const Statement& statement, std::string_view variable);

// `body` with every use of the variables replaced.
[[nodiscard]] Body with(Body body, const std::map<std::string, Index, std::less<>>& replacements);

// The loop of a variable and its place: `body` holds it at `position`; `around` are the loops
// outside it, outermost first.
struct LoopPlace {
  Body* body = nullptr;
  std::size_t position = 0;
  std::vector<const Loop*> around;
  [[nodiscard]] Loop& loop() const { return *(*body)[position].get<Loop>(); }
};
// Throws Error if there is no such loop.
[[nodiscard]] LoopPlace find_loop(LoopProgram& program, std::string_view variable);

// The statement inside the loops, which are given without bodies, outermost first.
[[nodiscard]] Statement nested(std::vector<Loop> loops, Statement innermost);
// The loops of the first top-level nest that computes the buffer or, if `sum`, sums into it. Throws
// Error if there is none.
[[nodiscard]] std::vector<const Loop*> nest_of(const LoopProgram& program,
                                               const std::string& buffer, bool sum);
// `stem`, or the first of stem2, stem3 ... that no buffer is called.
[[nodiscard]] std::string free_name(const LoopProgram& program, const std::string& stem);

[[nodiscard]] Extents extents_of(const std::vector<const Loop*>& loops);
// Extents of the loops inside.
[[nodiscard]] Extents extents_in(const Body& body);

// The part of a buffer that some statements access, as a box that moves with the surrounding loops.
// Used by the steps of a Schedule (primitives.h). Pure functions; thread-safe.

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
