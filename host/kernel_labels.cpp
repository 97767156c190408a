#include "host/kernel_labels.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace tilecast::host {
namespace {

using Flow = AsmInstruction::Flow;

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
