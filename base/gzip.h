// Gzip in memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilecast::base {

// By its first bytes.
[[nodiscard]] bool is_gzip(std::string_view bytes);

// All members, one after the other. Throws Error naming `file` where the data is damaged, ends
// early or unpacks to more than `max_bytes`.
[[nodiscard]] std::string unpack_gzip(std::string_view bytes, const std::string& file,
                                      std::size_t max_bytes);

}  // namespace tilecast::base
