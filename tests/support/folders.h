// Folders with input data of tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilecast::support {

// The root of this repository.
[[nodiscard]] std::filesystem::path source_dir();
// Third-party data, $TILECAST_SHARED or ../shared. Optional: tests skip if it is absent.
[[nodiscard]] std::filesystem::path shared_dir();
// Its files below `folder` with this extension, sorted; none if the data is absent.
[[nodiscard]] std::vector<std::filesystem::path> shared_files(const std::string& folder,
                                                              const std::string& extension);

}  // namespace tilecast::support
