// HLO text -> Module.
//
//   SourceText text = SourceText::read_file("model.hlo");
//   Module module = parse_hlo(text);          // throws Error: file:line:col: message, line, caret
//
// Accepts modules with or without header, single computations and single instructions, with or
// without `%` and operand shapes, shapes left out where they can be inferred. Unknown attributes
// are kept and warned about; `strict` makes them errors, as XLA does.
// Limits: nesting depth 128 (shapes, inline computations, braces), rank 32, 4 M instructions.
// Grammar: that of XLA's HLO parser (xla/hlo/parser). Thread-safe (no shared state).
#pragma once

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

struct ParseOptions {
  bool strict = false;       // unknown attributes are errors
  bool verify = true;        // run ir/verify/verifier.h on the result
  bool fill_layouts = true;  // arrays without a layout get the row-major default
};

[[nodiscard]] Module parse_hlo(const base::SourceText& text, const ParseOptions& options = {});
[[nodiscard]] Module read_hlo_file(const std::string& path, const ParseOptions& options = {});

// Parts, for tests and tools; each must consume the whole text.
[[nodiscard]] Shape parse_shape(std::string_view text);
[[nodiscard]] std::string canonical_sharding(std::string_view text);  // checks, reprints
[[nodiscard]] std::string canonical_frontend_attributes(std::string_view text);
[[nodiscard]] ConvDims parse_conv_dims(std::string_view text);
[[nodiscard]] std::vector<PadDim> parse_padding(std::string_view text);
[[nodiscard]] ReplicaGroups parse_replica_groups(std::string_view text);
[[nodiscard]] bool lexes_as_json_dict(std::string_view text);

}  // namespace tilecast::ir
