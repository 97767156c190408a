// The keys of a manifest, which a measurement set and the mapping of an import read alike.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hwdesc/config_reader.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

// A device is not required (the columns of a mapping may name it). Paths of devices are relative to
// `folder`. Keys in `others` are the caller's; any other unknown one is an Error, as are missing
// ones and values that make no sense: each names its place.
[[nodiscard]] Manifest manifest_of(const hwdesc::ConfigNode& root, const std::string& folder,
                                   std::span<const std::string_view> others);

}  // namespace tilecast::measured
