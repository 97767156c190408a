// Where tests find what they read.
#pragma once

#include <filesystem>
#include <string_view>

namespace tilecast::support {

// The root of this repository.
[[nodiscard]] std::filesystem::path source_dir();
// The third-party data, $TILECAST_SHARED or ../shared: optional, tests skip where it is absent.
[[nodiscard]] std::filesystem::path shared_dir();

}  // namespace tilecast::support
