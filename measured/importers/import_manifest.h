// The fields of a manifest in the YAML that describes an import, and that YAML's place. Formats
// without columns to map (tile runs, traces) need nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hwdesc/config_values.h"
#include "measured/importers/importer.h"
#include "measured/measurement_set.h"

namespace tilecast::measured {

// `name_or_path`: a path (has a '/' or ends in .yaml), or a mapping that comes with Tilecast, in
// `imports` beside the presets of devices. Throws Error naming those there are.
[[nodiscard]] hwdesc::ConfigNode read_mapping_file(const std::string& name_or_path);

// Entries of `root`; other keys are an Error, but for `others`. Devices are presets that exist, or
// paths, which become absolute.
[[nodiscard]] Manifest read_manifest_fields(const hwdesc::ConfigNode& root,
                                            const std::vector<std::string_view>& others);
// A mapping without tables; its device may be missing where the options name one. No mapping: the
// fields that follow from the name of the file to import.
[[nodiscard]] Manifest read_import_manifest(const std::string& name_or_path,
                                            const ImportOptions& options, const std::string& input);

// A preset's name as it is, a path made absolute, relative to `folder`. Error when it is no device.
[[nodiscard]] std::string resolve_device(const std::string& name_or_path,
                                         const std::string& folder);

}  // namespace tilecast::measured
