// x86-64 assembly as compilers print it (AT&T syntax), as far as labels of kernels need it: which
// vector registers an instruction reads and writes, whether it touches memory, where it jumps.
//
//   std::vector<AsmFunction> functions = parse_assembly(text);
//
// Made for the output of gcc -S -fverbose-asm, whose comments tell spill slots (%sfp) from other
// memory of the stack. An instruction nobody listed is taken to read its sources and to write its
// last operand. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilecast::host {

struct AsmInstruction {
  enum class Flow { kNext, kBranch, kJump, kCall, kReturn };  // kBranch: taken or not

  std::string text;    // without its comment: "vaddps\t%ymm0, %ymm1, %ymm2"
  std::string target;  // label or function of a branch, jump or call; "": not known
  Flow flow = Flow::kNext;
  std::uint32_t reads = 0, writes = 0;   // vector registers 0 ... 31, a bit each
  std::uint32_t names = 0;               // those it names at all
  bool loads = false, stores = false;    // memory
  bool spills = false, reloads = false;  // a vector register, to or from its stack slot
  int lanes = 0;  // 4-byte lanes that it computes on; 0: it moves, or is no vector instruction
};

struct AsmFunction {
  std::string name;
  std::vector<AsmInstruction> code;
  std::map<std::string, std::size_t> labels;  // -> the instruction they stand before
};

// Functions are what .type ...,@function names, in the order of the text; parts that a compiler
// moved away (name.cold) are functions of their own.
[[nodiscard]] std::vector<AsmFunction> parse_assembly(const std::string& text);

// Straight pieces of a function, and its loops.
struct AsmBlock {
  std::size_t first = 0, end = 0;  // instructions
  std::vector<std::size_t> next;   // blocks
};
// A natural loop: those of one header are one (Aho, Lam, Sethi, Ullman, section 9.6). Loops that
// are entered in the middle are none.
struct AsmLoop {
  std::vector<std::size_t> blocks;  // ascending
  int depth = 1;                    // loops it is in, itself among them
  bool innermost = true;
};
struct AsmGraph {
  std::vector<AsmBlock> blocks;
  std::vector<AsmLoop> loops;  // by header
};
[[nodiscard]] AsmGraph graph_of(const AsmFunction& function);

// The most vector registers that hold values still to be read, at any one point of these blocks
// (backward liveness over the whole function; a call keeps none: all are the callee's).
[[nodiscard]] int most_live(const AsmFunction& function, const AsmGraph& graph,
                            const std::vector<std::size_t>& blocks);

}  // namespace tilecast::host
