// Reads the text of a loop program (schedule/text.h), so that tests can write programs down and see
// that the text says all of a program: parse_loops(to_text(p)) is p. `#` starts a comment.
#pragma once

#include "base/source_text.h"
#include "schedule/loop_program.h"

namespace tilecast::schedule {

// Throws Error with file, line and column: bad syntax, an unknown or repeated name, a wrong number
// of indices, nesting deeper than 64.
[[nodiscard]] LoopProgram parse_loops(const base::SourceText& source);

}  // namespace tilecast::schedule
