// What the command says on stderr, besides its answer.
#pragma once

#include <string_view>

namespace tilecast::sim::cli {

// A line. What comes from files may stand in it: a terminal obeys none of it (base::printable). A
// closed stderr is no failure.
void tell(std::string_view line);
// In the place of the line that the terminal shows; "" clears it.
void tell_in_place(std::string_view line);

}  // namespace tilecast::sim::cli
