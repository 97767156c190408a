// The error message for a file that is not a program we can read, with advice on how to get one.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::ir {

// "model.npz: not a program that Tilecast reads: a zip archive; ... Tried: ... Dump one with ...".
[[nodiscard]] std::string unknown_form_message(const std::string& file, std::string_view bytes,
                                               std::string_view tried);

}  // namespace tilecast::ir
