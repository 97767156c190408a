// Reads the keys of a manifest, for measurement sets and import mappings.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hwdesc/config_reader.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

// The device is optional, because columns of a mapping may name it. Device paths are relative to
// `folder`. `others`: keys handled by the caller. Throws Error, with the position, for other
// unknown keys, missing keys and invalid values.
[[nodiscard]] Manifest manifest_of(const hwdesc::ConfigNode& root, const std::string& folder,
                                   std::span<const std::string_view> others);

}  // namespace tilecast::measured
