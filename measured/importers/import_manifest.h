// The fields of a manifest in the YAML that describes an import, and that YAML's place. Formats
// without columns to map (tile runs, traces, npz) need nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/config_values.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

// `name_or_path`: a path (has a '/' or ends in .yaml), or a mapping that comes with Tilecast, in
// `imports` beside the presets of devices; its path. Throws Error naming those there are.
[[nodiscard]] std::string find_mapping(const std::string& name_or_path);
[[nodiscard]] hwdesc::ConfigNode read_mapping_file(const std::string& name_or_path);

// Entries of `root`; other keys are an Error, but for `others`. Devices are presets that exist, or
// paths, which become absolute.
[[nodiscard]] Manifest read_manifest_fields(const hwdesc::ConfigNode& root,
                                            const std::vector<std::string_view>& others);
// A mapping without tables.
[[nodiscard]] Manifest read_import_manifest(const std::string& name_or_path);

// A preset's name as it is (Error when there is none), a path made absolute, relative to `folder`.
[[nodiscard]] std::string resolve_device(const std::string& name_or_path,
                                         const std::string& folder);

}  // namespace tilecast::measured
