// A loop program as a tree, the input of schedule-based models (Tomczak et al., 2019; AutoTVM: Chen
// et al., NeurIPS 2018), with the memory accesses of each loop.
//
//   ScheduleTree tree = make_tree(program);
//   for (const TreeNode& node : tree.nodes) ... name(node.kind), node.context.top_down
//
// The program is the root; its children are the buffers, then the statements. Loops and guards
// contain their bodies; an assignment contains its value, or the op that combines it with a read of
// the target; a copy contains the read of its source, a product of a matrix unit its three reads.
// Parents precede children. Values; pure functions; thread-safe.
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
  kApply  // TreeNode::opcode is the op
};
inline constexpr std::size_t kNodeKinds = 20;
[[nodiscard]] std::string_view name(NodeKind kind);  // "program", "main_buffer", "loop", ...
[[nodiscard]] constexpr bool is_loop(NodeKind kind) {
  return kind >= NodeKind::kSequentialLoop && kind <= NodeKind::kVectorizedLoop;
}

// Accesses of one buffer during one run of a node, with the surrounding loops fixed.
struct BufferTouch {
  const Buffer* buffer = nullptr;  // in the program the tree was built from
  bool writes = false;
  double elements = 0;  // distinct ones (touched.h)
  double bytes = 0;     // of these
  double accesses = 0;  // reads and writes
  double stride = 0;    // elements between iterations of the loop, else of the one around
  [[nodiscard]] double reuse() const { return elements > 0 ? accesses / elements : 0; }
};

// Operations during one run of a node.
struct OpCounts {
  double adds = 0;  // also subtractions, minima, maxima
  double multiplies = 0, divides = 0, transcendentals = 0, others = 0;
  double loads = 0, stores = 0;  // elements, copies included
  double copies = 0, syncs = 0;
};

struct NodeContext {
  double extent = 0;     // of a loop; else 0
  double depth = 0;      // nodes above
  double top_down = 1;   // product of the extents of the surrounding loops
  double bottom_up = 1;  // of the loops inside, along the path with the largest product;
                         // both include the node itself
  double parallel = 1, unrolled = 1, vectorized = 1;  // factors of top_down, by loop kind
  OpCounts ops;
  std::vector<BufferTouch> touches;  // written ones first, then largest first
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
