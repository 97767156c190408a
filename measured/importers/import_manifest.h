// Finds the YAML file that describes an import, and reads the manifest fields in it. Formats
// without columns to map (tile runs, traces) need nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/config_values.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

// `name_or_path`: a path (contains '/' or ends in .yaml), or the name of a mapping shipped with
// Tilecast, in `imports` next to the device presets. Throws Error that lists the available ones.
[[nodiscard]] hwdesc::ConfigNode read_mapping_file(const std::string& name_or_path);

// Reads the manifest fields in `root`; throws Error for keys that are neither these nor in
// `others`. Devices must be existing presets or paths; paths are made absolute.
[[nodiscard]] Manifest read_manifest_fields(const hwdesc::ConfigNode& root,
                                            const std::vector<std::string_view>& others);
// The manifest fields of a mapping without tables. The device may be missing if the options name
// one. Without a mapping, the fields are derived from the name of the imported file.
[[nodiscard]] Manifest read_import_manifest(const std::string& name_or_path,
                                            const ImportOptions& options, const std::string& input);

// Returns a preset's name unchanged; makes a path, relative to `folder`, absolute. Throws Error if
// it is not a device.
[[nodiscard]] std::string resolve_device(const std::string& name_or_path,
                                         const std::string& folder);

}  // namespace tilecast::measured
