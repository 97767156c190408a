// HLO text -> Module.
//
//   SourceText text = SourceText::read_file("model.hlo");
//   Module module = parse_hlo(text);          // throws Error: file:line:col: message, line, caret
//
// The result is verified (ir/verify/verifier.h); arrays without a layout get the row-major one.
// Accepts modules with or without header, single computations and single instructions, with or
// without `%` and operand shapes. Result shapes may be omitted if they can be inferred. Unknown
// attributes are kept with a warning; with `strict` they are errors, as in XLA. Limits: nesting
// depth 128 (shapes, inline computations, braces), rank 32, 4 M instructions. Grammar: that of
// XLA's HLO parser (xla/hlo/parser). Thread-safe (no shared state).
#pragma once

#include "base/source_text.h"
#include "ir/hlo.h"

namespace tilecast::ir {

struct ParseOptions {
  bool strict = false;  // unknown attributes are errors
};

[[nodiscard]] Module parse_hlo(const base::SourceText& text, const ParseOptions& options = {});
[[nodiscard]] Module read_hlo_file(const std::string& path, const ParseOptions& options = {});

}  // namespace tilecast::ir
