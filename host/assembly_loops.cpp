#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>

#include "host/assembly.h"

namespace tilecast::host {
namespace {

using Flow = AsmInstruction::Flow;

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

}  // namespace tilecast::host
