// Where tests find what they read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilecast::support {

// The root of this repository.
[[nodiscard]] std::filesystem::path source_dir();
// The third-party data, $TILECAST_SHARED or ../shared: optional, tests skip where it is absent.
[[nodiscard]] std::filesystem::path shared_dir();
// Its files below `folder` with that extension, in order; none where it is absent.
[[nodiscard]] std::vector<std::filesystem::path> shared_files(const std::string& folder,
                                                              const std::string& extension);

}  // namespace tilecast::support
