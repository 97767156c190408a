// Parser for x86-64 assembly as compilers print it (AT&T syntax). It extracts what kernel labels
// need: vector registers read and written, memory accesses, and jumps.
//
//   std::vector<AsmFunction> functions = parse_assembly(text);
//
// Written for gcc -S -fverbose-asm, whose comments mark spill slots (%sfp) on the stack. An unknown
// instruction is assumed to read its sources and write its last operand. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilecast::host {

struct AsmInstruction {
  enum class Flow { kNext, kBranch, kJump, kCall, kReturn };  // kBranch: conditional

  std::string text;    // without its comment: "vaddps\t%ymm0, %ymm1, %ymm2"
  std::string target;  // label or function that a branch, jump or call goes to; "": unknown
  Flow flow = Flow::kNext;
  std::uint32_t reads = 0, writes = 0;   // bit i: vector register i, 0 ... 31
  std::uint32_t names = 0;               // every vector register in its operands
  bool loads = false, stores = false;    // from or to memory
  bool spills = false, reloads = false;  // a vector register to or from a stack slot
  int lanes = 0;  // 4-byte lanes computed on; 0 for moves and scalar instructions
};

struct AsmFunction {
  std::string name;
  std::vector<AsmInstruction> code;
  std::map<std::string, std::size_t> labels;  // -> index of the following instruction
};

// The functions declared by `.type ...,@function`, in the order of the text. Parts that a compiler
// moved elsewhere (name.cold) are separate functions.
[[nodiscard]] std::vector<AsmFunction> parse_assembly(const std::string& text);

// A basic block: instructions [first, end).
struct AsmBlock {
  std::size_t first = 0, end = 0;  // instruction indices
  std::vector<std::size_t> next;   // successor blocks
};
// A natural loop; loops with the same header are merged (Aho, Lam, Sethi, Ullman, section 9.6).
// Irreducible loops, which have more than one entry, are not reported.
struct AsmLoop {
  std::vector<std::size_t> blocks;  // ascending
  int depth = 1;                    // nesting depth, 1 for an outermost loop
  bool innermost = true;
};
struct AsmGraph {
  std::vector<AsmBlock> blocks;
  std::vector<AsmLoop> loops;  // ordered by header
};
[[nodiscard]] AsmGraph graph_of(const AsmFunction& function);

// The maximum number of live vector registers at any point of these blocks. Uses backward liveness
// over the whole function; a call clobbers all vector registers.
[[nodiscard]] int most_live(const AsmFunction& function, const AsmGraph& graph,
                            const std::vector<std::size_t>& blocks);

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
