// Labels do not depend on interruptions of a session, and match the compiler's output.
#include "host/measure_labels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/source_text.h"
#include "host/assembly.h"
#include "host/measure_plan.h"
#include "hwdesc/device_yaml.h"
#include "measured/samples.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::host {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Labels are computed from the text of a function; a file that contains `refused` is rejected.
LabelBench fake_bench(const std::string& refused = "no such text") {
  return {.tools = "no compiler",
          .generate = generate_c,
          .label = [refused](const std::string& source, std::span<const std::string> functions) {
            LabelledFile made;
            if (source.find(refused) != std::string::npos)
              return LabelledFile{{}, "error: refused"};
            for (const std::string& function : functions) {
              const std::size_t at = source.find("void " + function + "(");
              const std::size_t end = source.find("\nvoid kernel_", at);
              const std::string text = source.substr(at, end == std::string::npos ? end : end - at);
              LabelValues values(label_quantities().size());
              values[0] = double(text.size() - function.size());
              made.kernels.push_back(std::move(values));
            }
            return made;
          }};
}

class MeasureLabels : public ::testing::Test, protected support::Folder {
 protected:
  MeasureLabels() {
    source_ = tile_source(device_);
    plan_ = plan_work(std::span(&source_, 1), device_,
                      {.tiles_per_kernel = 3, .unroll = {1, 4}, .kernels_per_source = 12});
  }
  [[nodiscard]] std::string path(const std::string& set, const std::string& file = {}) const {
    return (folder() / set / file).string();
  }
  [[nodiscard]] std::string text(const std::string& set, const std::string& file) const {
    return base::SourceText::read_bytes(path(set, file));
  }
  SessionReport session(const std::string& name, const LabelOptions& options,
                        const LabelBench& bench = fake_bench(), const SessionEvents& events = {}) {
    const measured::Manifest manifest{.name = "labels",
                                      .device = "cpu_generic",
                                      .source = "a test",
                                      .licence = "none",
                                      .timing = measured::Timing::kNone,
                                      .quantities = label_quantities()};
    GrowingSet set(
        path(name), manifest,
        {.date = "2026-01-01", .machine = "any", .compiler = bench.tools, .device = "cpu_generic"});
    return make_labels(plan_, device_, set, bench, options, events);
  }

  hwdesc::Device device_ = hwdesc::load_device("cpu_generic");
  WorkSource source_;
  std::vector<WorkItem> plan_;
};

TEST_F(MeasureLabels, AreASetWithoutTimes) {
  const SessionReport report = session("one", {});
  ASSERT_GE(plan_.size(), 40U);
  EXPECT_EQ(report.measured, plan_.size());
  const measured::MeasurementSet set = measured::read_measurement_set(path("one"));
  ASSERT_EQ(set.rows.size(), plan_.size());
  EXPECT_TRUE(set.faults.empty());
  EXPECT_THAT(set.parameter_names, ElementsAre("unroll"));
  EXPECT_EQ(set.manifest.quantities, label_quantities());
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    EXPECT_EQ(set.rows[i].tile, plan_[i].tile) << "in the plan's order";
    EXPECT_EQ(set.rows[i].parameters[0], i % 2 == 0 ? 1 : 4);
    EXPECT_FALSE(set.rows[i].runtime);
  }
  EXPECT_GT(set.rows[1].quantities[0], set.rows[0].quantities[0]) << "the pragma is text";
  const measured::SampleSet samples = measured::make_samples(set, device_, {.untimed = true});
  EXPECT_EQ(samples.samples.size(), set.rows.size());
}

TEST_F(MeasureLabels, DoNotDependOnJobs) {
  session("one", {.kernels_per_file = 3, .jobs = 1});
  session("three", {.kernels_per_file = 3, .jobs = 3});
  EXPECT_EQ(text("one", "measurements.csv"), text("three", "measurements.csv"));
}

TEST_F(MeasureLabels, OfASessionThatWasStoppedAreThoseOfOneThatWasNot) {
  const LabelOptions options{.kernels_per_file = 4, .jobs = 1};
  session("whole", options);
  const std::string whole = text("whole", "measurements.csv");
  int asked = 0;
  const SessionReport first =
      session("cut", options, fake_bench(), {.stop = [&asked] { return ++asked > 1; }});
  EXPECT_EQ(first.end, SessionEnd::kStopped);
  EXPECT_GT(first.measured, 0U);
  EXPECT_LT(first.measured, first.planned);
  const SessionReport second = session("cut", options);
  EXPECT_EQ(second.known, first.measured);
  EXPECT_EQ(text("cut", "measurements.csv"), whole);
  for (const std::size_t cut : {1, 60, 700}) {  // killed in the middle of a file's rows
    std::ofstream(path("cut", "measurements.csv"), std::ios::trunc)
        << whole.substr(0, whole.size() - cut);
    session("cut", options);
    EXPECT_EQ(text("cut", "measurements.csv"), whole) << cut;
  }
  EXPECT_EQ(session("cut", options).measured, 0U);
}

TEST_F(MeasureLabels, OneRefusedKernelCostsNoOther) {
  const SessionReport report = session("one", {.kernels_per_file = 4}, fake_bench("kernel_2("));
  const std::size_t files = (plan_.size() + 1) / 4;  // with a third kernel
  EXPECT_THAT(report.skipped, ElementsAre(Pair("compile error", files)));
  EXPECT_EQ(report.measured, plan_.size() - files);
  EXPECT_THAT(text("one", "skipped.csv"), HasSubstr("compile error,error: refused"));
  EXPECT_EQ(session("one", {.kernels_per_file = 4}).known, plan_.size());
}

TEST_F(MeasureLabels, OfAnotherCompilerAreRefused) {
  session("one", {});
  LabelBench other = fake_bench();
  other.tools = "another compiler";
  EXPECT_THAT(support::error_of([&] { session("one", {}, other); }),
              HasSubstr("holds rows of another compiler: got another compiler"));
}

TEST(Unrolled, AsksTheCompilerAtParallelLoops) {
  const std::string source =
      "{\n #pragma GCC ivdep\n for (;;) {}\n #pragma GCC ivdep\n for (;;) {}\n}";
  EXPECT_EQ(unrolled(source, 1), source);
  EXPECT_EQ(unrolled(source, 4),
            "{\n #pragma GCC ivdep\n#pragma GCC unroll 4\n for (;;) {}\n #pragma GCC "
            "ivdep\n#pragma GCC unroll 4\n for (;;) {}\n}");
}

// The real tools, if they are installed.
class LabelBenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      bench_ = label_bench();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] static double value(const LabelValues& values, std::string_view name) {
    const std::vector<measured::Quantity> all = label_quantities();
    EXPECT_EQ(values.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].name == name) return values[i].value_or(-1);
    }
    ADD_FAILURE() << name;
    return -1;
  }
  LabelBench bench_;
};

constexpr const char* kTriad =
    "void triad(float* restrict a, const float* restrict b, const float* restrict c, float s) {\n"
    "  for (long i = 0; i < 4096; ++i) a[i] = b[i] + s * c[i];\n}\n";
constexpr const char* kMaths =
    "#include <math.h>\nvoid maths(float* a) {\n  for (long i = 0; i < 4096; ++i) a[i] = "
    "expf(a[i]);\n}\n";

TEST_F(LabelBenchTest, ReadsWhatACompilerMakesOfALoop) {
  const std::vector<std::string> names{"triad", "maths", "none"};
  const LabelledFile file =
      bench_.label(std::string(kTriad) + kMaths + "void none(float* a) { *a = 1; }\n", names);
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.kernels.size(), 3U);
  const LabelValues& triad = file.kernels[0];
  EXPECT_EQ(value(triad, "vector_registers"), 2) << "the factor, and a load or a result";
  EXPECT_EQ(value(triad, "loop_lanes"), 8) << "one multiply-add of eight";
  EXPECT_EQ(value(triad, "loop_stores"), 1);
  EXPECT_EQ(value(triad, "loop_spills"), 0);
  EXPECT_GE(value(triad, "cycles_per_iteration"), 1);
  EXPECT_GT(value(triad, "vector_utilisation"), 0);
  EXPECT_LE(value(triad, "vector_utilisation"), 1);
  EXPECT_GT(value(triad, "code_size"), value(triad, "instructions"));
  EXPECT_EQ(value(file.kernels[1], "loop_calls"), 1);
  EXPECT_EQ(value(file.kernels[2], "loop_lanes"), -1) << "no loop";
  EXPECT_GT(value(file.kernels[2], "code_size"), 0);
}

TEST_F(LabelBenchTest, OfAKernelDoNotDependOnItsNeighbours) {
  const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  const WorkSource source = tile_source(device);
  const std::vector<WorkItem> plan =
      plan_work(std::span(&source, 1), device, {.tiles_per_kernel = 1, .kernels_per_source = 8});
  std::string together(c_prelude());
  std::vector<std::string> functions, alone;
  for (const WorkItem& item : plan) {
    functions.push_back(fmt::format("kernel_{}_1", functions.size()));
    auto made = generate_c(item.workload->kernel, item.tile, functions.back());
    alone.push_back(std::get<CKernel>(made).source);
    together += alone.back();
  }
  together += alone.back();  // the same code twice, under another name
  const std::size_t twin = together.rfind(functions.back());
  together.replace(twin, functions.back().size(), "twin");
  functions.emplace_back("twin");
  const LabelledFile file = bench_.label(together, functions);
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.kernels[plan.size()], file.kernels[plan.size() - 1]) << "not folded";
  for (std::size_t i = 0; i < plan.size(); i += 3) {
    const LabelledFile one =
        bench_.label(std::string(c_prelude()) + alone[i], std::span(functions).subspan(i, 1));
    EXPECT_EQ(one.kernels.at(0), file.kernels[i]) << plan[i].workload->name;
  }
}

TEST_F(LabelBenchTest, SaysWhatTheCompilerSays) {
  const std::vector<std::string> names{"f"};
  EXPECT_THAT(bench_.label("void f(void) { oops }\n", names).error, HasSubstr("oops"));
}

// --- Parsing of assembly, loops and liveness against hand-made expectations.

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
