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

}  // namespace tilecast::host
