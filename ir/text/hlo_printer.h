// Module -> canonical HLO text; parse(print(m)) == m and print(parse(print(m))) == print(m).
// Attributes and computations are printed in the order of XLA's HloModule::Print. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ir/hlo.h"

namespace tilecast::ir {

struct PrintOptions {
  // Long: `%names`, operand shapes, metadata, backend_config, signatures, /*index=5*/ comments.
  // Short ("parsable short form"): none of these.
  bool short_form = false;
};

[[nodiscard]] std::string print_hlo(const Module& module, const PrintOptions& options = {});
[[nodiscard]] std::string to_string(const ReplicaGroups& groups);
[[nodiscard]] std::string to_string(const Window& window);  // `{size=3x3 pad=1_1x1_1}`
[[nodiscard]] std::string to_string(const std::vector<PadDim>& padding);  // `0_1x2_3`

}  // namespace tilecast::ir
