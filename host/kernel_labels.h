// What a compiler made of a kernel, read off its assembly: registers, spills, instructions.
//
//   std::vector<AsmFunction> file = parse_assembly(text);
//   std::optional<KernelCode> code = kernel_code(file, "kernel_0");
//
// The hottest loop is chosen without running: of the innermost loops of the kernel and of the
// functions of the file that it calls, those that compute before those that only move; of these the
// deepest (loops around a call count); of these the one with the most lanes of vector arithmetic,
// then with the most instructions, then the first. A compiler's scalar remainder beside a
// vectorised loop is as deep and has fewer lanes. A loop with branches inside counts all of its
// instructions once, as if all ran. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/assembly.h"

namespace tilecast::host {

// The hottest loop. Vector registers are one each, however wide.
struct LoopCode {
  int depth = 0;
  int registers_live = 0;  // most_live()
  int registers_used = 0;  // that it names
  int spills = 0, reloads = 0;
  int instructions = 0, vector_instructions = 0;  // the second: those that compute
  int lanes = 0;                                  // 4-byte lanes they compute on
  int loads = 0, stores = 0, calls = 0;
  std::string text;  // its instructions, one a line, without labels
};

struct KernelCode {
  std::vector<std::string> functions;  // the kernel's and those it calls in the file, by name
  int instructions = 0;                // of all of them
  int spills = 0, reloads = 0;
  std::optional<LoopCode> loop;  // absent: the kernel has none
};

// nullopt: the file has no such function.
[[nodiscard]] std::optional<KernelCode> kernel_code(std::span<const AsmFunction> file,
                                                    const std::string& function);

}  // namespace tilecast::host
