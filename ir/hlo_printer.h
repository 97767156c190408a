// Module -> canonical HLO text; parse(print(m)) == m and print(parse(print(m))) == print(m).
// Order of attributes and computations as XLA prints them: specs/hlo.md 2.9.
#pragma once

#include <string>

#include "ir/hlo.h"

namespace tilecast::ir {

struct PrintOptions {
  // Long: `%names`, operand shapes, metadata, backend_config, signatures, /*index=5*/ comments.
  // Short ("parsable short form"): none of these.
  bool short_form = false;
};

[[nodiscard]] std::string print_hlo(const Module& module, const PrintOptions& options = {});
[[nodiscard]] std::string print_instruction(const Module& module, const Computation& computation,
                                            const Instruction& instruction,
                                            const PrintOptions& options = {});
[[nodiscard]] std::string to_string(const ReplicaGroups& groups);
[[nodiscard]] std::string to_string(const Window& window);  // `{size=3x3 pad=1_1x1_1}`

}  // namespace tilecast::ir
