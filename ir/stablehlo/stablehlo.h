// StableHLO text <-> Module.
//
//   Module module = parse_stablehlo(SourceText::read_file("model.mlir"));
//
// The module is the one that XLA makes of it: private functions become calls, several results a
// tuple with get-tuple-element, `chlo` ops what XLA expands them to, sharding and frontend
// attributes are kept. It is verified; result shapes are those that are written and must be those
// that ir/infer infers. Throws Error: file:line:col: message, line, caret; an op that has no HLO
// form is named. Thread-safe.
// Source of the mapping: openxla.org/stablehlo/spec, XLA's MLIR-to-HLO translation.
#pragma once

#include <string>

#include "base/source_text.h"
#include "ir/hlo.h"
#include "ir/read_module.h"

namespace tilecast::ir {

[[nodiscard]] Module parse_stablehlo(const base::SourceText& text, const ReadOptions& options = {});

// StableHLO as others read it: fusions and asynchronous ops are calls, copies and waits are gone,
// and what else StableHLO has no op for is a custom call `mhlo.<opcode>`. Layouts, memory spaces,
// schedules, names, backend notes and aliases are not kept: HLO text (ir/text/hlo_printer.h) is the
// form that loses nothing. Throws Error for shapes that StableHLO has no type for (buffers).
[[nodiscard]] std::string print_stablehlo(const Module& module);

// One op in words of StableHLO, without its text: for who needs words, not lines.
struct PrintedOp {
  std::string name;      // stablehlo.add; mhlo.copy where StableHLO has none
  bool several = false;  // its results are values of their own, which a stablehlo.tuple follows
  bool regions = false;  // what it calls is printed inside of it
};
// `instruction` calls nothing but computations of one op, and is no loop and no branch.
[[nodiscard]] PrintedOp printed_op(const Computation& computation, const Instruction& instruction);
// tensor<2x3xf32>
[[nodiscard]] std::string printed_type(const Shape& shape);

}  // namespace tilecast::ir
