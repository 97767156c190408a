// Parsing of assembly, loops and liveness against hand-made expectations.
#include "host/assembly.h"

#include <gmock/gmock.h>

namespace tilecast::host {
namespace {

using ::testing::ElementsAre;

AsmFunction function(const std::string& body, const std::string& name = "f") {
  const std::string text =
      "\t.type\t" + name + ", @function\n" + name + ":\n" + body + "\t.size\t" + name + ", .-f\n";
  std::vector<AsmFunction> functions = parse_assembly(text);
  EXPECT_EQ(functions.size(), 1U);
  return functions.front();
}

AsmInstruction instruction(const std::string& text) {
  return function("\t" + text + "\n").code.at(0);
}

constexpr std::uint32_t registers(std::initializer_list<unsigned> numbers) {
  std::uint32_t bits = 0;
  for (const unsigned number : numbers) bits |= 1U << number;
  return bits;
}

TEST(Assembly, KnowsWhatVectorInstructionsReadAndWrite) {
  struct Case {
    const char* text;
    std::uint32_t reads, writes;
    int lanes;
  };
  for (const Case& each : {
           Case{"vaddps %ymm1, %ymm2, %ymm3", registers({1, 2}), registers({3}), 8},
           {"vaddss (%rax), %xmm2, %xmm3", registers({2}), registers({3}), 1},
           {"vaddpd %ymm1, %ymm2, %ymm3", registers({1, 2}), registers({3}), 4},
           {"vmulps %xmm1, %xmm2, %xmm12", registers({1, 2}), registers({12}), 4},
           {"vfmadd231ps (%rax,%rcx,4), %ymm2, %ymm3", registers({2, 3}), registers({3}), 8},
           {"vmovups (%rdi), %ymm4", 0, registers({4}), 0},
           {"vmovups %ymm4, (%rdi)", registers({4}), 0, 0},
           {"vmovaps %ymm4, %ymm5", registers({4}), registers({5}), 0},
           {"vxorps %xmm0, %xmm0, %xmm0", 0, registers({0}), 0},
           {"vxorps %xmm0, %xmm1, %xmm0", registers({0, 1}), registers({0}), 4},
           {"vucomiss %xmm1, %xmm2", registers({1, 2}), 0, 1},
           {"vextractf128 $1, %ymm7, %xmm8", registers({7}), registers({8}), 0},
           {"vgatherdps %ymm3, (%rax,%ymm2,4), %ymm1", registers({1, 2, 3}), registers({1}), 0},
           {"addps %xmm1, %xmm2", registers({1, 2}), registers({2}), 4},
           {"vpextrd $1, %xmm3, %eax", registers({3}), 0, 0},
           {"vzeroupper", 0, 0, 0},
           {"addq $32, %rax", 0, 0, 0},
       }) {
    const AsmInstruction got = instruction(each.text);
    EXPECT_EQ(got.reads, each.reads) << each.text;
    EXPECT_EQ(got.writes, each.writes) << each.text;
    EXPECT_EQ(got.lanes, each.lanes) << each.text;
  }
}

TEST(Assembly, KnowsWhatTouchesMemory) {
  struct Case {
    const char* text;
    bool loads, stores;
  };
  for (const Case& each : {Case{"vaddps (%rax), %ymm2, %ymm3", true, false},
                           {"vmovups %ymm1, 8(%rax)", false, true},
                           {"movq %rax, -8(%rsp)", false, true},
                           {"addq $1, (%rax)", true, true},
                           {"cmpq $1, (%rax)", true, false},
                           {"leaq (%rax,%rcx), %rdx", false, false},
                           {"movl $3, %eax", false, false},
                           {"vmovaps .LC0(%rip), %ymm1", true, false},
                           {"prefetcht0 (%rax)", false, false}}) {
    const AsmInstruction got = instruction(each.text);
    EXPECT_EQ(got.loads, each.loads) << each.text;
    EXPECT_EQ(got.stores, each.stores) << each.text;
  }
}

TEST(Assembly, SpillSlotsAreThoseTheCompilerNames) {
  EXPECT_TRUE(instruction("vmovaps %ymm1, -72(%rbp)\t# tmp, %sfp").spills);
  EXPECT_FALSE(instruction("vmovaps %ymm1, -72(%rbp)\t# tmp, a").spills);
  EXPECT_TRUE(instruction("vaddps -72(%rbp), %ymm1, %ymm2\t# %sfp, a, b").reloads);
  EXPECT_FALSE(instruction("movq %rax, -72(%rbp)\t# tmp, %sfp").spills) << "of no vector";
}

TEST(Assembly, ReadsFunctionsLabelsAndJumps) {
  const std::vector<AsmFunction> functions = parse_assembly(
      "\t.text\n\t.type\ta, @function\na:\n.LFB1:\n# a.c:3: x += y;\n\tvaddps\t%ymm0, %ymm1, "
      "%ymm1\t# x\n.L2:\n\tje\t.L2\n\tcall\texpf@PLT\n\tret\t\n\t.size\ta, .-a\n"
      "data:\n\t.long\t3\n\t.type\tb, @function\nb:\n\tjmp\ta\n\t.size\tb, .-b\n");
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].name, "a");
  ASSERT_EQ(functions[0].code.size(), 4U);
  EXPECT_EQ(functions[0].code[0].text, "vaddps\t%ymm0, %ymm1, %ymm1");
  EXPECT_EQ(functions[0].labels.at(".L2"), 1U);
  EXPECT_EQ(functions[0].code[1].target, ".L2");
  EXPECT_EQ(functions[0].code[1].flow, AsmInstruction::Flow::kBranch);
  EXPECT_EQ(functions[0].code[2].target, "expf");
  EXPECT_EQ(functions[0].code[3].flow, AsmInstruction::Flow::kReturn);
  EXPECT_EQ(functions[1].code[0].target, "a");
}

// for i: for j: {...}, entered at the test of the inner loop; then a separate loop.
constexpr const char* kNested =
    ".L1:\n\tmovq $0, %rcx\n\tjmp .L3\n.L2:\n\tvaddps (%rax,%rcx), %ymm0, %ymm0\n"
    "\taddq $32, %rcx\n.L3:\n\tcmpq %rcx, %rdx\n\tjne .L2\n\tdecq %rdi\n\tjne .L1\n"
    ".L4:\n\tmovb $0, (%rax)\n\tincq %rax\n\tcmpq %rax, %rsi\n\tjne .L4\n\tret\n";

TEST(AsmGraph, FindsLoopsAndTheirDepth) {
  const AsmGraph graph = graph_of(function(kNested));
  ASSERT_EQ(graph.loops.size(), 3U);
  std::vector<std::pair<int, bool>> found;
  for (const AsmLoop& loop : graph.loops) found.emplace_back(loop.depth, loop.innermost);
  EXPECT_THAT(found, ElementsAre(std::pair(1, false), std::pair(2, true), std::pair(1, true)));
}

TEST(AsmGraph, AStraightFunctionHasNoLoop) {
  EXPECT_TRUE(graph_of(function("\tje .L1\n\tnop\n.L1:\n\tret\n")).loops.empty());
  EXPECT_TRUE(graph_of(function("")).blocks.empty());
}

// Two accumulators and a factor are live through the loop; the load makes four registers, and the
// product may reuse the load's.
constexpr const char* kTwoSums =
    "\tvxorps %xmm0, %xmm0, %xmm0\n\tvxorps %xmm1, %xmm1, %xmm1\n\tvmovups (%rsi), %ymm5\n"
    ".L2:\n\tvmovups (%rdi), %ymm2\n\tvfmadd231ps %ymm5, %ymm2, %ymm0\n"
    "\tvmulps %ymm5, %ymm2, %ymm3\n\tvaddps %ymm3, %ymm1, %ymm1\n\taddq $32, %rdi\n"
    "\tcmpq %rdi, %rax\n\tjne .L2\n\tvmovups %ymm0, (%rdx)\n\tvmovups %ymm1, 32(%rdx)\n\tret\n";

TEST(Liveness, CountsWhatIsStillRead) {
  const AsmFunction sums = function(kTwoSums);
  const AsmGraph graph = graph_of(sums);
  ASSERT_EQ(graph.loops.size(), 1U);
  EXPECT_EQ(most_live(sums, graph, graph.loops[0].blocks), 4);
}

TEST(Liveness, AValueThatOnlyPassesThroughALoopIsLiveInIt) {
  const std::string before = "\tvmovups (%rsi), %ymm9\n",
                    after = "\tvmovups %ymm9, (%rsi)\n\tret\n";
  std::string body = kTwoSums;
  body = before + body.substr(0, body.rfind("\tret")) + after;
  const AsmFunction sums = function(body);
  const AsmGraph graph = graph_of(sums);
  EXPECT_EQ(most_live(sums, graph, graph.loops[0].blocks), 5);
}

TEST(Liveness, NothingOutlivesACallButItsResult) {
  const AsmFunction calls = function(
      ".L2:\n\tvmovss (%rdi), %xmm0\n\tcall expf\n\tvmovss %xmm0, (%rdi)\n\taddq $4, %rdi\n"
      "\tjne .L2\n\tret\n");
  const AsmGraph graph = graph_of(calls);
  EXPECT_EQ(most_live(calls, graph, graph.loops[0].blocks), 1);
}

TEST(KernelCode, TakesTheDeepestLoopThatComputes) {
  const std::vector<AsmFunction> file{function(kNested)};
  const std::optional<KernelCode> code = kernel_code(file, "f");
  ASSERT_TRUE(code && code->loop);
  EXPECT_EQ(code->loop->depth, 2);
  EXPECT_EQ(code->loop->lanes, 8);
  EXPECT_EQ(code->loop->instructions, 4);
  EXPECT_EQ(code->loop->vector_instructions, 1);
  EXPECT_EQ(code->loop->loads, 1);
  EXPECT_EQ(code->loop->registers_live, 1);
  EXPECT_EQ(code->instructions, static_cast<int>(file[0].code.size()));
  EXPECT_FALSE(kernel_code(file, "g"));
}

TEST(KernelCode, PrefersVectorsToTheirScalarRemainder) {
  const std::vector<AsmFunction> file{
      function(".L1:\n\tvaddps (%rax), %ymm0, %ymm0\n\taddq $32, %rax\n\tjne .L1\n.L2:\n"
               "\tvaddss (%rax), %xmm0, %xmm0\n\tvaddss %xmm0, %xmm0, %xmm0\n\taddq $4, %rax\n"
               "\tjne .L2\n\tret\n")};
  EXPECT_EQ(kernel_code(file, "f")->loop->lanes, 8);
}

TEST(KernelCode, FollowsCallsIntoFunctionsOfTheFile) {
  const std::vector<AsmFunction> file{
      function(kTwoSums, "sums"),
      function(".L1:\n\tcall sums\n\tdecq %rdi\n\tjne .L1\n.L2:\n\tvaddps (%rax), %ymm0, %ymm0\n"
               "\tjne .L2\n\tret\n")};
  const std::optional<KernelCode> code = kernel_code(file, "f");
  ASSERT_TRUE(code && code->loop);
  EXPECT_THAT(code->functions, ElementsAre("sums", "f"));
  EXPECT_EQ(code->loop->depth, 2) << "one around the call, one inside";
  EXPECT_EQ(code->loop->registers_live, 4);
  EXPECT_EQ(kernel_code(file, "sums")->loop->depth, 1);
}

}  // namespace
}  // namespace tilecast::host
