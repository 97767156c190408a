#include "host/assembly.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace tilecast::host {

namespace {

using Flow = AsmInstruction::Flow;

constexpr int kVectorRegisters = 32;

std::string_view trimmed(std::string_view text) {
  return base::trim(text, " \t\r");
}

// "name" of "%name..."; "" for anything else.
std::string_view register_name(std::string_view text) {
  if (!text.starts_with('%')) return {};
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", 1);
  return text.substr(1, end == std::string_view::npos ? end : end - 1);
}

struct VectorRegister {
  int number = 0, bytes = 0;
};

std::optional<VectorRegister> vector_register(std::string_view name) {
  if (name.size() < 4 || name.substr(1, 2) != "mm") return std::nullopt;
  const int bytes = name[0] == 'x' ? 16 : name[0] == 'y' ? 32 : name[0] == 'z' ? 64 : 0;
  const int number = base::parse_number<int>(name.substr(3)).value_or(-1);
  if (bytes == 0 || number < 0 || number >= kVectorRegisters) return std::nullopt;
  return VectorRegister{number, bytes};
}

struct Operand {
  std::uint32_t registers = 0;  // vector registers in its text
  int bytes = 0;                // width, if it is a vector register; else 0
  bool memory = false;
};

Operand operand_of(std::string_view text) {
  Operand operand;
  operand.memory = !text.starts_with('%') && !text.starts_with('$');
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const auto found = vector_register(register_name(text.substr(at)));
    if (!found) continue;
    operand.registers |= 1U << static_cast<unsigned>(found->number);
    if (at == 0) operand.bytes = found->bytes;
  }
  return operand;
}

// Splits at commas outside of parentheses.
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    const std::string_view operand = trimmed(text.substr(first, i - first));
    if (!operand.empty()) operands.push_back(operand);
    first = i + 1;
  }
  return operands;
}

template <std::size_t kCount>
bool starts_with_one_of(std::string_view text, const std::array<std::string_view, kCount>& list) {
  return std::ranges::any_of(list, [&](std::string_view each) { return text.starts_with(each); });
}

// Whether a vector mnemonic, without its v, only moves values.
bool moves(std::string_view stem) {
  constexpr std::array<std::string_view, 18> kMoves{
      "mov",   "lddqu",  "broadcast", "pbroadcast", "shuf",    "pshuf",
      "unpck", "punpck", "perm",      "insert",     "pinsr",   "extract",
      "pextr", "pack",   "palignr",   "gather",     "pgather", "maskmov"};
  return starts_with_one_of(stem, kMoves) || stem.starts_with("pmaskmov") ||
         stem.starts_with("zero");
}

// Whether it only sets flags, so that its last operand is a source.
bool compares(std::string_view stem) {
  constexpr std::array<std::string_view, 4> kCompares{"ucomis", "comis", "ptest", "testp"};
  return starts_with_one_of(stem, kCompares);
}

// Whether it reads its destination.
bool accumulates(std::string_view stem, bool three_operands) {
  constexpr std::array<std::string_view, 7> kInto{"fmadd",  "fmsub",   "fnmadd", "fnmsub",
                                                  "pdpbus", "pgather", "gather"};
  if (starts_with_one_of(stem, kInto)) return true;
  constexpr std::array<std::string_view, 5> kFresh{"mov", "cvt", "sqrt", "pshuf", "lddqu"};
  return !three_operands && !starts_with_one_of(stem, kFresh);
}

// Whether it sets zeros or all ones by equal sources, which it does not depend on.
bool is_idiom(std::string_view stem, const std::vector<Operand>& operands) {
  constexpr std::array<std::string_view, 4> kIdioms{"xorp", "pxor", "psub", "pcmpeq"};
  return starts_with_one_of(stem, kIdioms) && operands.size() >= 2 && operands[0].registers != 0 &&
         operands[0].registers == operands[1].registers && !operands[0].memory;
}

int lanes_of(std::string_view stem, int bytes) {
  if (stem.ends_with("ss") || stem.ends_with("sd")) return 1;
  constexpr int kLane = 4;
  return std::max(1, bytes / (stem.ends_with("pd") ? 2 * kLane : kLane));
}

void read_vector(std::string_view mnemonic, const std::vector<Operand>& operands,
                 AsmInstruction& read) {
  const bool vex = mnemonic.starts_with('v');
  const std::string_view stem = vex ? mnemonic.substr(1) : mnemonic;
  const Operand& last = operands.back();
  int bytes = 0;
  for (const Operand& operand : operands) {
    read.names |= operand.registers;
    bytes = std::max(bytes, operand.bytes);
  }
  if (read.names == 0) return;
  const bool writes = last.bytes > 0 && !compares(stem);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i + 1 < operands.size() || !writes) read.reads |= operands[i].registers;
  }
  const bool idiom = is_idiom(stem, operands);
  if (writes) {
    read.writes = last.registers;
    if (accumulates(stem, vex)) read.reads |= last.registers;
    if (idiom) read.reads = 0;
  }
  if (!moves(stem) && !idiom) read.lanes = lanes_of(stem, bytes);
}

void read_memory(std::string_view mnemonic, const std::vector<Operand>& operands,
                 AsmInstruction& read) {
  constexpr std::array<std::string_view, 4> kNone{"lea", "prefetch", "nop", "clflush"};
  if (starts_with_one_of(mnemonic, kNone)) return;
  const bool only_reads = mnemonic.starts_with("cmp") || mnemonic.starts_with("test") ||
                          compares(mnemonic) || compares(mnemonic.substr(1));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].memory) continue;
    const bool is_last = i + 1 == operands.size();
    if (!is_last || only_reads || operands.size() == 1) read.loads = true;
    if (is_last && !only_reads) read.stores = true;
    // read-modify-write, such as add $1, (mem)
    if (is_last && read.stores && read.names == 0 && !mnemonic.starts_with("mov"))
      read.loads = true;
  }
}

AsmInstruction instruction_of(std::string_view line) {
  const std::size_t hash = line.find('#');
  const std::string_view comment =
      hash == std::string_view::npos ? std::string_view() : line.substr(hash);
  const std::string_view text = trimmed(line.substr(0, hash));
  AsmInstruction read{.text = std::string(text)};
  const std::size_t blank = text.find_first_of(" \t");
  const std::string_view mnemonic = text.substr(0, blank);
  const std::string_view rest = blank == std::string_view::npos ? "" : trimmed(text.substr(blank));
  if (mnemonic.starts_with("ret")) read.flow = Flow::kReturn;
  if (mnemonic.starts_with("call")) read.flow = Flow::kCall;
  if (mnemonic.starts_with('j')) read.flow = mnemonic == "jmp" ? Flow::kJump : Flow::kBranch;
  if (read.flow != Flow::kNext) {
    if (!rest.starts_with('*')) read.target = rest.substr(0, rest.find('@'));
    return read;
  }
  std::vector<Operand> operands;
  for (const std::string_view operand : operands_of(rest)) operands.push_back(operand_of(operand));
  if (operands.empty()) return read;
  read_vector(mnemonic, operands, read);
  read_memory(mnemonic, operands, read);
  if (read.names != 0 && comment.find("%sfp") != std::string_view::npos) {
    read.spills = read.stores;
    read.reloads = read.loads;
  }
  return read;
}

}  // namespace

std::vector<AsmFunction> parse_assembly(const std::string& text) {
  std::vector<AsmFunction> functions;
  std::map<std::string, bool> is_function;
  bool inside = false;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(".type") && line.ends_with("@function")) {
      const std::string_view name = trimmed(line.substr(5, line.find(',') - 5));
      is_function[std::string(name)] = true;
    } else if (line.starts_with(".size")) {
      inside = false;
    } else if (const std::size_t colon = line.find(':');
               colon != std::string_view::npos && line.find_first_of(" \t\"#") > colon) {
      std::string name(line.substr(0, colon));
      if (is_function.contains(name)) {
        functions.push_back({.name = std::move(name)});
        inside = true;
      } else if (inside) {
        functions.back().labels[std::move(name)] = functions.back().code.size();
      }
    } else if (inside && !line.starts_with('.')) {
      functions.back().code.push_back(instruction_of(line));
    }
  }
  return functions;
}

namespace {

constexpr std::size_t kNoBlock = std::numeric_limits<std::size_t>::max();

// The blocks of a function with the edges between them.
std::vector<AsmBlock> blocks_of(const AsmFunction& function) {
  std::set<std::size_t> firsts{0};
  for (const auto& [label, at] : function.labels) firsts.insert(at);
  for (std::size_t i = 0; i < function.code.size(); ++i) {
    const Flow flow = function.code[i].flow;
    if (flow != Flow::kNext && flow != Flow::kCall) firsts.insert(i + 1);
  }
  firsts.erase(firsts.lower_bound(function.code.size()), firsts.end());
  std::vector<AsmBlock> blocks;
  std::map<std::size_t, std::size_t> starting;  // first instruction -> block
  for (const std::size_t first : firsts) {
    if (!blocks.empty()) blocks.back().end = first;
    starting[first] = blocks.size();
    blocks.push_back({.first = first, .end = function.code.size(), .next = {}});
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const AsmInstruction& last = function.code[blocks[b].end - 1];
    const bool leaves = last.flow == Flow::kJump || last.flow == Flow::kReturn;
    if (!leaves && b + 1 < blocks.size()) blocks[b].next.push_back(b + 1);
    if (last.flow != Flow::kJump && last.flow != Flow::kBranch) continue;
    const auto label = function.labels.find(last.target);
    if (label == function.labels.end()) continue;
    const auto block = starting.find(label->second);
    if (block != starting.end()) blocks[b].next.push_back(block->second);
  }
  return blocks;
}

std::vector<std::vector<std::size_t>> previous_of(const std::vector<AsmBlock>& blocks) {
  std::vector<std::vector<std::size_t>> previous(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::size_t next : blocks[b].next) previous[next].push_back(b);
  }
  return previous;
}

// Reachable blocks in reverse postorder.
std::vector<std::size_t> reverse_postorder(const std::vector<AsmBlock>& blocks) {
  std::vector<std::size_t> order, edge(blocks.size(), 0), path{0};
  std::vector<bool> seen(blocks.size(), false);
  if (blocks.empty()) return order;
  seen[0] = true;
  while (!path.empty()) {
    const std::size_t b = path.back();
    if (edge[b] == blocks[b].next.size()) {
      order.push_back(b);
      path.pop_back();
      continue;
    }
    const std::size_t next = blocks[b].next[edge[b]++];
    if (seen[next]) continue;
    seen[next] = true;
    path.push_back(next);
  }
  std::ranges::reverse(order);
  return order;
}

// Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001).
class Dominators {
 public:
  explicit Dominators(const std::vector<AsmBlock>& blocks)
      : above_(blocks.size(), kNoBlock), rank_(blocks.size(), kNoBlock) {
    const std::vector<std::size_t> order = reverse_postorder(blocks);
    const auto previous = previous_of(blocks);
    for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
    if (order.empty()) return;
    above_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t b : order) {
        if (b == 0) continue;
        std::size_t common = kNoBlock;
        for (const std::size_t from : previous[b]) {
          if (above_[from] == kNoBlock) continue;
          common = common == kNoBlock ? from : meet(from, common);
        }
        changed = changed || above_[b] != common;
        above_[b] = common;
      }
    }
  }

  [[nodiscard]] bool reached(std::size_t block) const { return rank_[block] != kNoBlock; }
  [[nodiscard]] bool dominates(std::size_t a, std::size_t b) const {
    while (rank_[b] > rank_[a]) b = above_[b];
    return a == b;
  }

 private:
  [[nodiscard]] std::size_t meet(std::size_t a, std::size_t b) const {
    while (a != b) {
      while (rank_[a] > rank_[b]) a = above_[a];
      while (rank_[b] > rank_[a]) b = above_[b];
    }
    return a;
  }

  std::vector<std::size_t> above_, rank_;
};

std::vector<AsmLoop> loops_of(const std::vector<AsmBlock>& blocks) {
  const Dominators dominators(blocks);
  const auto previous = previous_of(blocks);
  std::map<std::size_t, std::set<std::size_t>> bodies;  // by header
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!dominators.reached(b)) continue;
    for (const std::size_t header : blocks[b].next) {
      if (!dominators.dominates(header, b)) continue;
      std::set<std::size_t>& body = bodies[header];
      body.insert(header);
      std::vector<std::size_t> left{b};
      while (!left.empty()) {
        const std::size_t at = left.back();
        left.pop_back();
        if (!dominators.reached(at) || !body.insert(at).second) continue;
        left.insert(left.end(), previous[at].begin(), previous[at].end());
      }
    }
  }
  std::vector<AsmLoop> loops;
  for (const auto& [header, body] : bodies) {
    AsmLoop loop{.blocks = {body.begin(), body.end()}};
    for (const auto& [other, around] : bodies) {
      if (other == header) continue;
      if (around.contains(header)) ++loop.depth;
      if (body.contains(other)) loop.innermost = false;
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

// Registers that are live before an instruction, given those live after it.
std::uint32_t before(const AsmInstruction& instruction, std::uint32_t live) {
  // If the result of a call (register 0) is used, it was passed there.
  constexpr std::uint32_t kNumber = 1;
  if (instruction.flow == Flow::kCall) return live & kNumber;
  return (live & ~instruction.writes) | instruction.reads;
}

}  // namespace

AsmGraph graph_of(const AsmFunction& function) {
  AsmGraph graph;
  if (function.code.empty()) return graph;
  graph.blocks = blocks_of(function);
  graph.loops = loops_of(graph.blocks);
  return graph;
}

int most_live(const AsmFunction& function, const AsmGraph& graph,
              const std::vector<std::size_t>& blocks) {
  std::vector<std::uint32_t> in(graph.blocks.size(), 0);
  const auto out_of = [&](std::size_t b) {
    std::uint32_t live = 0;
    for (const std::size_t next : graph.blocks[b].next) live |= in[next];
    return live;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = graph.blocks.size(); b-- > 0;) {
      std::uint32_t live = out_of(b);
      for (std::size_t i = graph.blocks[b].end; i-- > graph.blocks[b].first;) {
        live = before(function.code[i], live);
      }
      changed = changed || live != in[b];
      in[b] = live;
    }
  }
  int most = 0;
  for (const std::size_t b : blocks) {
    std::uint32_t live = out_of(b);
    for (std::size_t i = graph.blocks[b].end; i-- > graph.blocks[b].first;) {
      // An unused result needs a register, too.
      most = std::max(most, std::popcount(live | function.code[i].writes));
      live = before(function.code[i], live);
    }
    most = std::max(most, std::popcount(live));
  }
  return most;
}

namespace {

const AsmFunction* function_named(std::span<const AsmFunction> file, const std::string& name) {
  const auto found = std::ranges::find(file, name, &AsmFunction::name);
  return found == file.end() ? nullptr : &*found;
}

// A function with the number of loops around its most deeply nested call.
struct Called {
  AsmGraph graph;
  int around = 0;
};

class CallTree {
 public:
  CallTree(std::span<const AsmFunction> file, const AsmFunction& kernel) : file_(file) {
    visit(kernel, 0);
  }
  [[nodiscard]] const std::map<const AsmFunction*, Called>& functions() const { return functions_; }

 private:
  void visit(const AsmFunction& function, int around) {
    const auto [known, is_new] = functions_.try_emplace(&function);
    if (is_new) known->second.graph = graph_of(function);
    if (!is_new && known->second.around >= around) return;
    if (around > kMostLoops) return;  // recursion
    known->second.around = around;
    const AsmGraph& graph = known->second.graph;
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      for (std::size_t i = graph.blocks[b].first; i < graph.blocks[b].end; ++i) {
        const AsmFunction* callee = callee_of(function, function.code[i]);
        if (callee != nullptr) visit(*callee, around + depth_of(graph, b));
      }
    }
  }
  // The callee of a call, or of a jump out of the function.
  [[nodiscard]] const AsmFunction* callee_of(const AsmFunction& function,
                                             const AsmInstruction& instruction) const {
    const bool leaves = instruction.flow == Flow::kCall || instruction.flow == Flow::kJump ||
                        instruction.flow == Flow::kBranch;
    if (!leaves || function.labels.contains(instruction.target)) return nullptr;
    return function_named(file_, instruction.target);
  }
  static int depth_of(const AsmGraph& graph, std::size_t block) {
    int depth = 0;
    for (const AsmLoop& loop : graph.loops) {
      if (std::ranges::binary_search(loop.blocks, block)) depth = std::max(depth, loop.depth);
    }
    return depth;
  }

  static constexpr int kMostLoops = 64;
  std::span<const AsmFunction> file_;
  std::map<const AsmFunction*, Called> functions_;
};

LoopCode loop_code(const AsmFunction& function, const AsmGraph& graph, const AsmLoop& loop,
                   int around) {
  LoopCode code{.depth = around + loop.depth};
  std::uint32_t named = 0;
  for (const std::size_t b : loop.blocks) {
    for (std::size_t i = graph.blocks[b].first; i < graph.blocks[b].end; ++i) {
      const AsmInstruction& each = function.code[i];
      named |= each.names;
      ++code.instructions;
      code.vector_instructions += each.lanes > 0 ? 1 : 0;
      code.lanes += each.lanes;
      code.loads += each.loads ? 1 : 0;
      code.stores += each.stores ? 1 : 0;
      code.spills += each.spills ? 1 : 0;
      code.reloads += each.reloads ? 1 : 0;
      code.calls += each.flow == Flow::kCall ? 1 : 0;
      code.text += each.text + "\n";
    }
  }
  code.registers_used = std::popcount(named);
  code.registers_live = most_live(function, graph, loop.blocks);
  return code;
}

}  // namespace

std::optional<KernelCode> kernel_code(std::span<const AsmFunction> file,
                                      const std::string& function) {
  const AsmFunction* kernel = function_named(file, function);
  if (kernel == nullptr) return std::nullopt;
  KernelCode code;
  const auto rank = [](const LoopCode& loop) {
    return std::tuple(loop.lanes > 0, loop.depth, loop.lanes, loop.instructions);
  };
  const CallTree tree(file, *kernel);
  for (const AsmFunction& each : file) {  // in file order, so that results are deterministic
    const auto found = tree.functions().find(&each);
    if (found == tree.functions().end()) continue;
    const Called& called = found->second;
    code.functions.push_back(each.name);
    code.instructions += static_cast<int>(each.code.size());
    for (const AsmInstruction& instruction : each.code) {
      code.spills += instruction.spills ? 1 : 0;
      code.reloads += instruction.reloads ? 1 : 0;
    }
    for (const AsmLoop& loop : called.graph.loops) {
      if (!loop.innermost) continue;
      LoopCode candidate = loop_code(each, called.graph, loop, called.around);
      if (!code.loop || rank(*code.loop) < rank(candidate)) code.loop = std::move(candidate);
    }
  }
  return code;
}

}  // namespace tilecast::host
