// StableHLO text <-> Module.
//
//   Module module = parse_stablehlo(SourceText::read_file("model.mlir"));
//
// The conversion matches XLA's: private functions become calls, multiple results become a tuple
// with get-tuple-element, `chlo` ops are expanded, and sharding and frontend attributes are kept.
// The module is verified. Result shapes are taken from the text and must match those that ir/infer
// infers. Throws Error: file:line:col: message, line, caret; also for an op without HLO equivalent.
// Thread-safe. Source of the mapping: openxla.org/stablehlo/spec, XLA's MLIR-to-HLO translation.
#pragma once

#include <string>

#include "base/source_text.h"
#include "ir/hlo.h"
#include "ir/read_module.h"

namespace tilecast::ir {

[[nodiscard]] Module parse_stablehlo(const base::SourceText& text, const ReadOptions& options = {});

// Prints StableHLO for other tools. Fusions and asynchronous ops become calls, copies and waits are
// dropped, and other opcodes without StableHLO equivalent become custom calls `mhlo.<opcode>`.
// Layouts, memory spaces, schedules, names, backend configs and aliases are lost; use HLO text
// (ir/text/hlo_printer.h) to keep everything. Throws Error for shapes that have no StableHLO type
// (buffers).
[[nodiscard]] std::string print_stablehlo(const Module& module);

// An op described in StableHLO terms, without printing it.
struct PrintedOp {
  std::string name;      // stablehlo.add; mhlo.copy if StableHLO has no such op
  bool several = false;  // its results are separate values, packed by a following stablehlo.tuple
  bool regions = false;  // the computations it calls are printed as regions
};
// `instruction` must not be a loop or branch, and must call only computations of a single op.
[[nodiscard]] PrintedOp printed_op(const Computation& computation, const Instruction& instruction);
// tensor<2x3xf32>
[[nodiscard]] std::string printed_type(const Shape& shape);

}  // namespace tilecast::ir
