// Unpacks gzip data in memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilecast::base {

// Whether the bytes start with gzip's signature.
[[nodiscard]] bool is_gzip(std::string_view bytes);

// Unpacks all members, concatenated. Throws Error naming `file` if the data is damaged, ends early
// or unpacks to more than `max_bytes`.
[[nodiscard]] std::string unpack_gzip(std::string_view bytes, const std::string& file,
                                      std::size_t max_bytes);

}  // namespace tilecast::base
