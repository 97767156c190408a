// Trees of loop programs: their structure, and the memory behaviour of loops as formulas.
#include "schedule/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/kernels/kernel_sketch.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "schedule/touched.h"
#include "schedule/walk.h"
#include "tests/schedule/random_schedules.h"

namespace tilecast::schedule {
namespace {

LoopProgram program_of(const std::string& text) {
  return parse_loops(base::SourceText("tree.loops", text));
}

// c[i, j] += a[i, k] * b[k, j], in tiles of 8 x 16 x 4.
constexpr const char* kProduct = R"(program product
  input main a f32[32,20]
  input main b f32[20,64]
  output main c f32[32,64]
{
  parallel io < 4 {
    loop jo < 4 {
      loop ko < 5 {
        loop ii < 8 {
          unroll ki < 4 {
            vector ji < 16 {
              c[8 * io + ii, 16 * jo + ji] add= multiply.f32(a[8 * io + ii, 4 * ko + ki], b[4 * ko + ki, 16 * jo + ji])
            }
          }
        }
      }
    }
  }
}
)";

std::vector<const TreeNode*> nodes_of(const ScheduleTree& tree, NodeKind kind) {
  std::vector<const TreeNode*> found;
  for (const TreeNode& node : tree.nodes) {
    if (node.kind == kind) found.push_back(&node);
  }
  return found;
}

const BufferTouch& touch_of(const TreeNode& node, const std::string& buffer) {
  const auto found =
      std::find_if(node.context.touches.begin(), node.context.touches.end(),
                   [&](const BufferTouch& touch) { return touch.buffer->name == buffer; });
  EXPECT_NE(found, node.context.touches.end()) << buffer;
  return *found;
}

TEST(Tree, HoldsBuffersLoopsAndTheOpsOfAProduct) {
  const LoopProgram program = program_of(kProduct);
  const ScheduleTree tree = make_tree(program);
  std::map<std::string_view, int> kinds;
  for (const TreeNode& node : tree.nodes) ++kinds[name(node.kind)];
  const std::map<std::string_view, int> expected = {
      {"program", 1}, {"main_buffer", 3}, {"parallel", 1}, {"loop", 3}, {"unroll", 1},
      {"vector", 1},  {"store", 1},       {"apply", 2},    {"load", 3}};
  EXPECT_EQ(kinds, expected);
}

TEST(Tree, ContextsFollowFromTheExtents) {
  const LoopProgram program = program_of(kProduct);
  const ScheduleTree tree = make_tree(program);
  const TreeNode& ii = *nodes_of(tree, NodeKind::kSequentialLoop).at(2);
  EXPECT_EQ(ii.context.extent, 8);
  EXPECT_EQ(ii.context.top_down, 4 * 4 * 5 * 8);
  EXPECT_EQ(ii.context.bottom_up, 8 * 4 * 16);
  EXPECT_EQ(ii.context.parallel, 4);
  EXPECT_EQ(ii.context.unrolled, 1);
  EXPECT_EQ(ii.context.ops.multiplies, 8 * 4 * 16);
  EXPECT_EQ(ii.context.ops.adds, 8 * 4 * 16);
  EXPECT_EQ(ii.context.ops.loads, 3 * 8 * 4 * 16);
  EXPECT_EQ(ii.context.ops.stores, 8 * 4 * 16);
  const TreeNode& store = *nodes_of(tree, NodeKind::kStore).at(0);
  EXPECT_EQ(store.context.top_down, 32 * 64 * 20);
  EXPECT_EQ(store.context.unrolled, 4);
  EXPECT_EQ(store.context.vectorized, 16);
  EXPECT_EQ(tree.nodes[0].context.ops.multiplies, 32 * 64 * 20);
}

TEST(Tree, TouchedMemoryReuseAndStridesAreThoseOfATiledProduct) {
  const LoopProgram program = program_of(kProduct);
  const ScheduleTree tree = make_tree(program);
  const TreeNode& ko = *nodes_of(tree, NodeKind::kSequentialLoop).at(1);
  const double iterations = 5 * 8 * 4 * 16;
  EXPECT_EQ(touch_of(ko, "a").elements, 8 * 20);
  EXPECT_EQ(touch_of(ko, "a").bytes, 4 * 8 * 20);
  EXPECT_EQ(touch_of(ko, "a").reuse(), iterations / (8 * 20));
  EXPECT_EQ(touch_of(ko, "a").stride, 4);
  EXPECT_EQ(touch_of(ko, "b").elements, 20 * 16);
  EXPECT_EQ(touch_of(ko, "b").stride, 4 * 64);
  EXPECT_EQ(touch_of(ko, "c").elements, 8 * 16);
  EXPECT_EQ(touch_of(ko, "c").reuse(), 2 * iterations / (8 * 16));
  EXPECT_EQ(touch_of(ko, "c").stride, 0);
  EXPECT_TRUE(ko.context.touches.at(0).writes);
  EXPECT_EQ(ko.context.touches.at(1).buffer->name, "b");          // larger than a's part
  for (const TreeNode* load : nodes_of(tree, NodeKind::kLoad)) {  // for the innermost loop, ji
    EXPECT_EQ(load->context.touches.at(0).stride,
              load->context.touches.at(0).buffer->name == "a" ? 0 : 1);
  }
}

TEST(Tree, WindowsThatOverlapAreCountedOnce) {
  const LoopProgram program = program_of(R"(program window
  input main x f32[40]
  output main y f32[18]
{
  loop i < 18 {
    loop r < 3 {
      y[i] add= x[2 * i + r]
    }
  }
}
)");
  const ScheduleTree tree = make_tree(program);
  const TreeNode& outer = *nodes_of(tree, NodeKind::kSequentialLoop).at(0);
  EXPECT_EQ(touch_of(outer, "x").elements, 2 * (18 - 1) + 3);
}

TEST(Tree, ProductsOfAMatrixUnitCountAsWhatTheyCompute) {
  ir::KernelSketch sketch("product", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId a = sketch.row_major_parameter(ir::DType::kF32, {64, 32});
  const ir::OpId b = sketch.row_major_parameter(ir::DType::kF32, {32, 48});
  const ir::Kernel product = sketch.build({sketch.dot(
      a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {64, 48}, ir::DType::kF32)});
  const analytical::TileConfig tile = analytical::parse_tile("out=16x12 kernel=8x12 stages=2");
  const LoopProgram program = loops_of(product, &tile);
  const ScheduleTree tree = make_tree(program);
  ASSERT_EQ(nodes_of(tree, NodeKind::kMultiply).size(), 1U);
  EXPECT_EQ(tree.nodes[0].context.ops.multiplies, 64.0 * 48 * 32);
  EXPECT_EQ(nodes_of(tree, NodeKind::kSharedBuffer).size(), 2U);
}

std::size_t values_in(const Value& value) {
  std::size_t count = 1;
  for (const Value& operand : value.operands) count += values_in(operand);
  return count;
}

// The expected nodes of a program, counted independently of the tree.
std::size_t expected_nodes(const LoopProgram& program) {
  std::size_t nodes = 1 + program.buffers.size();
  for_each_statement(program.body, [&](const Statement& statement) {
    ++nodes;
    if (const auto* assign = statement.get<Assign>()) {
      nodes += values_in(assign->value) + (assign->combine ? 2 : 0);
    }
    if (statement.get<Copy>() != nullptr) nodes += 1;
    if (statement.get<Multiply>() != nullptr) nodes += 3;
  });
  return nodes;
}

TEST(Tree, HasEveryStatementOnceAndParentsBeforeChildren) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const bool convolves = seed % 3 == 0;
    const LoopProgram program =
        convolves ? random_convolution(seed).program : random_schedule(seed).program;
    const ScheduleTree tree = make_tree(program);
    EXPECT_EQ(tree.nodes.size(), expected_nodes(program)) << seed;
    EXPECT_EQ(tree.nodes[0].parent, -1);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      EXPECT_GE(tree.nodes[i].parent, 0);
      EXPECT_LT(tree.nodes[i].parent, static_cast<std::int32_t>(i)) << "no cycle: " << seed;
    }
    EXPECT_EQ(tree.nodes[0].context.touches.size() <= program.buffers.size(), true);
  }
}

TEST(Tree, TheSameProgramGivesTheSameTree) {
  const LoopProgram program = random_schedule(7).program;
  const LoopProgram again = program_of(to_text(program));
  const ScheduleTree a = make_tree(program), b = make_tree(again);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].kind, b.nodes[i].kind);
    EXPECT_EQ(a.nodes[i].parent, b.nodes[i].parent);
    EXPECT_EQ(a.nodes[i].context.touches.size(), b.nodes[i].context.touches.size());
  }
}

}  // namespace
}  // namespace tilecast::schedule
