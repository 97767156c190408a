// Labels of a compiled kernel, read from its assembly: registers, spills, instructions.
//
//   std::vector<AsmFunction> file = parse_assembly(text);
//   std::optional<KernelCode> code = kernel_code(file, "kernel_0");
//
// The hottest loop is chosen statically among the innermost loops of the kernel and of the
// functions it calls in the file. Criteria, in order: it computes rather than only moves data;
// nesting depth (loops around a call count); lanes of vector arithmetic; instruction count;
// position in the text. The scalar remainder of a vectorised loop has the same depth but fewer
// lanes. In a loop with branches every instruction counts once. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/assembly.h"

namespace tilecast::host {

// The hottest loop. A vector register counts as one, whatever its width.
struct LoopCode {
  int depth = 0;
  int registers_live = 0;  // most_live()
  int registers_used = 0;  // distinct registers named
  int spills = 0, reloads = 0;
  int instructions = 0, vector_instructions = 0;  // vector_instructions: those that compute
  int lanes = 0;                                  // 4-byte lanes that they compute on
  int loads = 0, stores = 0, calls = 0;
  std::string text;  // its instructions, one per line, without labels
};

struct KernelCode {
  std::vector<std::string> functions;  // the kernel's and its callees in the file, by name
  int instructions = 0;                // in all of them
  int spills = 0, reloads = 0;
  std::optional<LoopCode> loop;  // nullopt: the kernel has no loop
};

// nullopt: the file has no such function.
[[nodiscard]] std::optional<KernelCode> kernel_code(std::span<const AsmFunction> file,
                                                    const std::string& function);

}  // namespace tilecast::host
