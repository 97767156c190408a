// How descriptions build on each other: `extends:` merges trees, `--set` edits one value.
//
//   tree = merge(read_config(parent), read_config(child));
//   apply_override(tree, "hbm.bandwidth", "1.2TB/s");
#pragma once

#include <string>
#include <string_view>

#include "hwdesc/config_reader.h"

namespace tilecast::hwdesc {

// The parent with the child's keys laid over it, mapping by mapping; lists and scalars replace.
// A null value removes the inherited key. A block that overrides numbers does not inherit the
// parent's `source:` (the reader then asks for one), and one with a source of its own does not
// inherit `estimated:`. `name`, `description`, `extends` and `published` describe the parent itself
// and are not inherited.
[[nodiscard]] ConfigNode merge(ConfigNode parent, const ConfigNode& child);

// Sets the leaf at the dotted `path`. Blocks under `memory:` and `transfer:` are addressed by their
// own name (`hbm.bandwidth`, `hbm_to_vmem.setup`). `value` is a scalar, or a flow list or mapping
// when it starts with [ or {; `null` removes the key. Throws Error when the path is no path.
void apply_override(ConfigNode& root, const std::string& path, const std::string& value);

}  // namespace tilecast::hwdesc
