// Messages of the command on stderr, next to its result.
#pragma once

#include <string_view>

namespace tilecast::sim::cli {

// Prints a line. It may contain text from files: escape sequences are not passed on to a terminal
// (base::printable). A closed stderr is not an error.
void tell(std::string_view line);
// Replaces the line shown on the terminal; "" clears it.
void tell_in_place(std::string_view line);

}  // namespace tilecast::sim::cli
