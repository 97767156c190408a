// Schedules of small kernels: ALCOP's examples, errors of each rule and step, and the text.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "ir/kernels/kernel_sketch.h"
#include "schedule/from_kernel.h"
#include "schedule/pipeline.h"
#include "schedule/primitives.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"
#include "schedule/touched.h"
#include "schedule/tree.h"
#include "schedule/walk.h"
#include "tests/schedule/parse_loops.h"
#include "tests/schedule/random_schedules.h"
#include "tests/schedule/run_loops.h"
#include "tests/support/errors.h"

namespace tilecast::schedule {
namespace {

using ::testing::HasSubstr;

LoopProgram loops(const std::string& text) {
  return parse_loops(base::SourceText("test.loops", text));
}

template <class Step>
std::string refusal(const Step& step) {
  return support::error_of([&] { step(); }, "accepted");
}

// The input of ALCOP's Fig. 7, one block: tiles of a and b in shared memory, parts of them in
// registers.
constexpr const char* kTwoLevels = R"(program product
  input main a f32[16,128]
  input main b f32[128,16]
  output main c f32[16,16]
  temporary shared a.shared f32[16,32] stages 3
  temporary shared b.shared f32[32,16] stages 3
  temporary register a.register f32[16,8] stages 2
  temporary register b.register f32[8,16] stages 2
{
  loop i < 16 {
    loop j < 16 {
      c[i, j] = 0:f32
    }
  }
  loop ko < 4 {
    copy a.shared[0, 0] = a[0, 32 * ko] size 16x32 async
    copy b.shared[0, 0] = b[32 * ko, 0] size 32x16 async
    loop ki < 4 {
      copy a.register[0, 0] = a.shared[0, 8 * ki] size 16x8 async
      copy b.register[0, 0] = b.shared[8 * ki, 0] size 8x16 async
      multiply c[0, 0] += a.register[0, 0] * b.register[0, 0] size 16x16x8
    }
  }
}
)";

TEST(Pipelined, GivesTheLoopsOfAlcopsFigure7) {
  const std::string text = to_text(pipelined(loops(kTwoLevels)));
  const std::string body = text.substr(text.find("  loop ko.first"));
  EXPECT_EQ(body, R"(  loop ko.first < 2 {
    producer_acquire shared@ko
    copy a.shared[ko.first][0, 0] = a[0, 32 * (ko.first % 4)] size 16x32 async
    copy b.shared[ko.first][0, 0] = b[32 * (ko.first % 4), 0] size 32x16 async
    producer_commit shared@ko
  }
  consumer_wait shared@ko
  loop ki.first < 1 {
    producer_acquire register@ki
    copy a.register[ki.first][0, 0] = a.shared[0][0, 8 * ki.first] size 16x8 async
    copy b.register[ki.first][0, 0] = b.shared[0][8 * ki.first, 0] size 8x16 async
    producer_commit register@ki
  }
  loop ko < 4 {
    producer_acquire shared@ko
    copy a.shared[(ko + 2) % 3][0, 0] = a[0, 32 * ((ko + 2) % 4)] size 16x32 async
    copy b.shared[(ko + 2) % 3][0, 0] = b[32 * ((ko + 2) % 4), 0] size 32x16 async
    producer_commit shared@ko
    loop ki < 4 {
      guard 0 <= ki - 3 < 1 {
        consumer_wait shared@ko
      }
      producer_acquire register@ki
      copy a.register[(ki + 1) % 2][0, 0] = a.shared[(((ki + 1) / 4) + ko) % 3][0, 8 * ((ki + 1) % 4)] size 16x8 async
      copy b.register[(ki + 1) % 2][0, 0] = b.shared[(((ki + 1) / 4) + ko) % 3][8 * ((ki + 1) % 4), 0] size 8x16 async
      producer_commit register@ki
      consumer_wait register@ki
      multiply c[0, 0] += a.register[ki % 2][0, 0] * b.register[ki % 2][0, 0] size 16x16x8
      consumer_release register@ki
    }
    consumer_release shared@ko
  }
  loop ki.last < 1 {
    consumer_wait register@ki
  }
  loop ki.last < 1 {
    consumer_release register@ki
  }
  loop ko.last < 1 {
    consumer_wait shared@ko
  }
  loop ko.last < 2 {
    consumer_release shared@ko
  }
}
)");
}

TEST(Pipelined, IsTheProgramItselfWithoutStages) {
  const LoopProgram plain = random_schedule(1).program;
  LoopProgram unstaged = plain;
  for (Buffer& buffer : unstaged.buffers) buffer.stages = 1;
  EXPECT_EQ(to_text(pipelined(unstaged)), to_text(unstaged));
}

// --- detection (II-A)

LoopProgram one_level(const std::string& loop, const std::string& fill) {
  return loops(
      "program p\n input main a f32[64]\n output main c f32[8]\n"
      "temporary shared s f32[8]\n{\n" +
      loop + " i < 8 {\n" + fill + "loop j < 8 { c[j] = s[j] }\n}\n}\n");
}

TEST(Detection, TakesACopyInASequentialLoop) {
  const Detection found = detect_pipeline(one_level("loop", "copy s[0] = a[8*i] size 8\n"), "s", 3);
  ASSERT_TRUE(found.found) << found.refusal;
  EXPECT_EQ(found.found->loop, "i");
  EXPECT_EQ(found.found->producer, "a");
}

TEST(Detection, Rule1RefusesWhatIsComputedAndWhatTheMachineCannotCopy) {
  const LoopProgram computed = one_level("loop", "loop k < 8 { s[k] = negate.f32(a[8*i + k]) }\n");
  EXPECT_THAT(detect_pipeline(computed, "s", 3).refusal, HasSubstr("rule 1: s is computed"));
  const LoopProgram copied = one_level("loop", "copy s[0] = a[8*i] size 8\n");
  EXPECT_THAT(detect_pipeline(copied, "s", 3, {.to_shared = false}).refusal,
              HasSubstr("no asynchronous copies to shared memory"));
  EXPECT_THAT(detect_pipeline(copied, "c", 3).refusal, HasSubstr("main memory"));
}

TEST(Detection, Rule2RefusesLoopsThatAreNotSequentialOrFillOnce) {
  for (const char* kind : {"parallel", "unroll"}) {
    EXPECT_THAT(detect_pipeline(one_level(kind, "copy s[0] = a[8*i] size 8\n"), "s", 3).refusal,
                HasSubstr("rule 2: loop i that fills s anew is no sequential loop"));
  }
  const LoopProgram once = loops(
      "program p input main a f32[8] output main c f32[8] temporary shared s f32[8] {"
      "loop i < 8 { copy s[i] = a[i] size 1 } loop j < 8 { c[j] = s[j] } }");
  EXPECT_THAT(detect_pipeline(once, "s", 3).refusal, HasSubstr("rule 2: s is filled once"));
}

TEST(Detection, Rule3RefusesBarriersThatDoNotMatch) {
  LoopProgram two = loops(
      "program p input main a f32[64] output main c f32[8]"
      "temporary shared s f32[8] stages 3 temporary shared t f32[2] {"
      "loop i < 8 { copy s[0] = a[8 * i] size 8"
      "  loop j < 4 { copy t[0] = a[8 * i + 2 * j] size 2"
      "    loop k < 2 { c[2 * j + k] = add.f32(s[2 * j + k], t[k]) } } } }");
  EXPECT_THAT(detect_pipeline(two, "t", 3).refusal, HasSubstr("wait in different loops, j and i"));
  EXPECT_TRUE(detect_pipeline(two, "t", 3, {.waits_for_scope = false}).found);
  EXPECT_THAT(refusal([&] {
                two.buffer("t").stages = 3;
                (void)pipelined(two);
              }),
              HasSubstr("rule 3"));
}

// --- order (II-B, Fig. 5): s1 -> s2 = f(s1) -> s3 = s2 x w

ir::Kernel negated_product() {
  ir::KernelSketch sketch("fig5", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId s1 = sketch.row_major_parameter(ir::DType::kF32, {8, 24});
  const ir::OpId w = sketch.row_major_parameter(ir::DType::kF32, {24, 8});
  const ir::OpId s2 = sketch.elementwise(ir::Opcode::kNegate, {s1});
  return sketch.build({sketch.dot(s2, w, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {8, 8},
                                  ir::DType::kF32)});
}

Schedule tiled_product(const ir::Kernel& kernel) {
  Schedule made(read_loops(kernel));
  made.split("k_2", 6);
  made.reorder({"k_2o", "i_2", "j_2"});
  made.cache_read("k_2o", "negate.2", Scope::kShared);
  return made;
}

TEST(Order, InliningBeforePipeliningTakesTheCopyAway) {
  const ir::Kernel kernel = negated_product();
  Schedule made = tiled_product(kernel);
  made.inline_value("negate.2");
  EXPECT_THAT(refusal([&] { made.pipeline("negate.2.shared", 3); }),
              HasSubstr("rule 1: negate.2.shared is computed, not copied; inline after"));
  const auto inputs = whole_inputs(kernel, 1);
  EXPECT_EQ(run_loops(made.program(), inputs), interpreter::evaluate(kernel, inputs));
}

TEST(Order, InliningAfterPipeliningMovesTheComputationToTheUse) {
  const ir::Kernel kernel = negated_product();
  Schedule made = tiled_product(kernel);
  made.pipeline("negate.2.shared", 3);
  made.inline_value("negate.2");
  const LoopProgram code = pipelined(made.program());
  EXPECT_EQ(code.find("negate.2"), nullptr);
  EXPECT_EQ(code.buffer("parameter.0.shared").stages, 3);
  EXPECT_THAT(to_text(code), HasSubstr("negate.f32(parameter.0.shared[k_2o % 3][i_2, k_2i])"));
  const auto inputs = whole_inputs(kernel, 1);
  EXPECT_EQ(run_loops(code, inputs), interpreter::evaluate(kernel, inputs));
}

TEST(Order, TilingComesBeforePipelining) {
  Schedule made = tiled_product(negated_product());
  made.pipeline("negate.2.shared", 2);
  EXPECT_THAT(refusal([&] { made.split("k_2o", 2); }), HasSubstr("tiling comes before pipelining"));
  EXPECT_THAT(refusal([&] { made.unroll("k_2o"); }), HasSubstr("comes before pipelining"));
}

// --- steps and text

TEST(Steps, RefuseWhatDoesNotFitAndChangeNothing) {
  Schedule made(read_loops(negated_product()));
  const std::string before = to_text(made.program());
  EXPECT_THAT(refusal([&] { made.split("x", 2); }), HasSubstr("no loop runs x"));
  EXPECT_THAT(refusal([&] { made.split("k_2", 0); }), HasSubstr("expected 1 or more"));
  EXPECT_THAT(refusal([&] { made.reorder({"i", "k_2"}); }), HasSubstr("not in the perfect nest"));
  EXPECT_THAT(refusal([&] { made.multiply("i_2"); }), HasSubstr("in main memory"));
  EXPECT_THAT(refusal([&] { made.inline_value("dot.3"); }), HasSubstr("only a temporary"));
  EXPECT_EQ(to_text(made.program()), before);
}

TEST(Steps, SumsAreNotInlined) {
  ir::KernelSketch sketch("sum", ir::Opcode::kFusion, {.tiled = false});
  const ir::OpId x = sketch.row_major_parameter(ir::DType::kBF16, {8, 8});
  Schedule made(read_loops(sketch.build({sketch.reduce(x, ir::Opcode::kAdd, 1)})));
  const Buffer& sum = made.program().buffers.back();
  EXPECT_EQ(sum.dtype, ir::DType::kF32);  // rounded once, at the end
  EXPECT_THAT(refusal([&] { made.inline_value(sum.name); }), HasSubstr("2 nests write it"));
}

TEST(Text, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"program p { x[0] = 1:f32 }", "test.loops:1:13: error: no buffer x"},
      {"program p input main a q9[3] {}", "q9 is no element type"},
      {"program p output main a f32[3] { a[i] = 1:f32 }", "no loop runs i here"},
      {"program p output main a f32[3] { a[0, 0] = 1:f32 }", "a has 1 dimensions, got 2 indices"},
      {"program p output main a f32[3] { loop i < 0 {} }", "expected a number above 0"},
      {"program p output main a f32[3] { a[0] = warp.f32(a[0]) }", "no op warp"},
      {"program p output main a f32[3] { a[1099511627776 * (1099511627776 * 2)] = 1:f32 }",
       "an index above 2^62"},
      {"program p temporary shared a f32[3] stages 9999 {}", "at most 1024 stages"},
      {"program p {", "expected"},
      {"", "expected `program`"},
  };
  for (const auto& [text, message] : kWrong) {
    EXPECT_THAT(refusal([t = text] { (void)loops(t); }), HasSubstr(message)) << text;
  }
  const std::string deep(10000, '(');
  EXPECT_THAT(refusal([&] { (void)loops("program p output main a f32[3] { a[" + deep); }),
              HasSubstr("nested deeper than 64"));
}

TEST(Index, QuotientsAndRemaindersAreExact) {
  const Index i = Index::of("i");
  for (std::int64_t v = -7; v < 30; ++v) {
    const Environment at{{"i", v}};
    for (const std::int64_t m : {1, 2, 3, 7}) {
      const std::int64_t quotient = ((i * 2 + 5) / m).value(at);
      const std::int64_t remainder = ((i * 2 + 5) % m).value(at);
      EXPECT_EQ(quotient * m + remainder, 2 * v + 5);
      EXPECT_GE(remainder, 0);
      EXPECT_LT(remainder, m);
    }
  }
  EXPECT_EQ(((i * 6 + 4) / 2).text(), "3 * i + 2");
  EXPECT_EQ(((i * 6 + 4) % 3).text(), "1");
}

// --- Trees of loop programs: their structure, and the memory behaviour of loops as formulas.

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
