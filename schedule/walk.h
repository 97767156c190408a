// Walks over loop programs, shared by all passes. Pure functions; thread-safe.
#pragma once

#include <functional>
#include <map>
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

[[nodiscard]] Extents extents_of(const std::vector<const Loop*>& loops);
// Extents of the loops inside.
[[nodiscard]] Extents extents_in(const Body& body);

}  // namespace tilecast::schedule
