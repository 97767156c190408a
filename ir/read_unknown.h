// What a file is that holds no program we read, as a message with a way out.
#pragma once

#include <string>
#include <string_view>

namespace tilecast::ir {

// "model.npz: not a program that Tilecast reads: a zip archive; ... Tried: ... Dump one with ...".
[[nodiscard]] std::string unknown_form_message(const std::string& file, std::string_view bytes,
                                               std::string_view tried);

}  // namespace tilecast::ir
