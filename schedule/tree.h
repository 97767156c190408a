// A loop program as a tree: what models of schedules read (Tomczak et al., 2019; AutoTVM: Chen et
// al., NeurIPS 2018), with what each loop does to memory.
//
//   ScheduleTree tree = make_tree(program);
//   for (const TreeNode& node : tree.nodes) ... name(node.kind), node.context.top_down
//
// The program is the root; its children are the buffers, then the statements. Loops and guards hold
// their bodies; an assignment holds its value, with the read and the op of what it combines with;
// a copy holds the read of its source, a product of a matrix unit its three reads. Parents stand
// before children. Values; pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/loop_program.h"

namespace tilecast::schedule {

enum class NodeKind : std::uint8_t {
  kProgram,
  kMainBuffer,  // by scope, as Scope
  kSharedBuffer,
  kRegisterBuffer,
  kSequentialLoop,  // by kind, as LoopKind
  kParallelLoop,
  kUnrolledLoop,
  kVectorizedLoop,
  kGuard,
  kStore,
  kLoad,
  kNumber,
  kCopy,
  kAsyncCopy,
  kMultiply,
  kAcquire,  // as Sync::Kind
  kCommit,
  kWait,
  kRelease,
  kApply  // TreeNode::opcode says what
};
inline constexpr std::size_t kNodeKinds = 20;
[[nodiscard]] std::string_view name(NodeKind kind);  // "program", "main_buffer", "loop", ...
[[nodiscard]] constexpr bool is_loop(NodeKind kind) {
  return kind >= NodeKind::kSequentialLoop && kind <= NodeKind::kVectorizedLoop;
}

// One buffer during one run of a node; the loops around the node stand still.
struct BufferTouch {
  const Buffer* buffer = nullptr;  // of the program that the tree was made of
  bool writes = false;
  double elements = 0;  // different ones (touched.h)
  double bytes = 0;     // of these
  double accesses = 0;  // reads and writes
  double stride = 0;    // elements between two iterations of the loop; of others: of the one around
  [[nodiscard]] double reuse() const { return elements > 0 ? accesses / elements : 0; }
};

// Operations during one run of a node.
struct OpCounts {
  double adds = 0;  // and subtractions, minima, maxima
  double multiplies = 0, divides = 0, transcendentals = 0, others = 0;
  double loads = 0, stores = 0;  // elements; of copies too
  double copies = 0, syncs = 0;
};

struct NodeContext {
  double extent = 0;     // of a loop; else 0
  double depth = 0;      // nodes above
  double top_down = 1;   // product of the extents of the loops around
  double bottom_up = 1;  // of the loops inside, where they nest deepest
                         // in iterations; both with the node itself
  double parallel = 1, unrolled = 1, vectorized = 1;  // parts of top_down, by kind of loop
  OpCounts ops;
  std::vector<BufferTouch> touches;  // written ones first, then by bytes, largest first
};

struct TreeNode {
  NodeKind kind = NodeKind::kProgram;
  ir::Opcode opcode = ir::Opcode::kCopy;  // kApply
  std::int32_t parent = -1;
  double element_bytes = 0;        // of a value or buffer
  double bounds = 0;               // conditions of a guard or assignment
  const Buffer* buffer = nullptr;  // of a buffer node
  NodeContext context;
};
struct ScheduleTree {
  std::vector<TreeNode> nodes;
};
// The program must outlive it.
[[nodiscard]] ScheduleTree make_tree(const LoopProgram& program);

}  // namespace tilecast::schedule
