// Builds descriptions from others: `extends:` merges trees, `--set` edits one value.
#pragma once

#include <string>
#include <string_view>

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

// The parent overlaid with the child's keys, mapping by mapping; lists and scalars replace. A null
// value removes the inherited key. A block that overrides numbers does not inherit the parent's
// `source:` (the reader then requires one), and one with its own source does not inherit
// `estimated:`. `name`, `description`, `profile_names`, `extends` and `published` describe the
// parent itself and are not inherited.
[[nodiscard]] ConfigNode merge(ConfigNode parent, const ConfigNode& child);

// Sets the leaf at the dotted `path`. Blocks under `memory:` and `transfer:` are addressed by their
// own name (`hbm.bandwidth`, `hbm_to_vmem.setup`). `value` is a scalar, or a flow list or mapping
// if it starts with [ or {; `null` removes the key. Throws Error for a malformed path.
void apply_override(ConfigNode& root, const std::string& path, const std::string& value);

}  // namespace tilecast::hwdesc
